/** Notes to records: the row of a resource's notes follows from the resource. */
import { field, type Fields } from './field';
import { pascalCase, snakeCase } from './names';
import type { PortalReach } from './portal-reach';
import { resource, type AnyRecord, type Labels, type Resource } from './resource';

/** Who reads a record through the portal reads its public notes; who makes such records writes public notes to them. */
function portalOf({ portal }: Resource): { portal?: PortalReach } {
  const { get: read, create: write } = portal?.actions ?? {};
  if (!read) return {};
  return {
    portal: {
      actions: { list: read, get: read, ...(write ? { create: write } : {}) },
      shows: ['body', 'visibility', 'authorId'],
      belongs: 'parent',
      hides: { field: 'visibility', values: ['internal'] },
      create: { takes: { body: 'any', visibility: ['public'] }, sets: { visibility: 'public' } },
    },
  };
}

const ownName = (noun: string): string => pascalCase(noun).replace(/^./, (first) => first.toLowerCase());

function declare(parent: Resource): Resource {
  const [noun] = parent.nouns;
  const name = `${ownName(noun)}Id`;
  const fields: Fields = {
    [name]: field.ref(parent.key).required().serverSet(),
    body: field.note().required(),
    visibility: field
      .choice(['internal', 'public'])
      .default('internal')
      .filterable()
      .described('`public` notes are shown to the client in the portal'),
    authorId: field.id().serverSet().filterable().described('The user, key or client user that wrote it'),
  };
  return resource({
    products: parent.products,
    path: `${snakeCase(noun).replaceAll('_', '-')}-notes`,
    key: `${parent.key}.notes`,
    nouns: [`${noun} note`, `${noun} notes`],
    eventNoun: parent.singular,
    eventProduct: parent.eventProduct,
    prefix: 'nte',
    category: parent.category,
    fields,
    label: 'visibility',
    lists: [name],
    parent: { row: parent, field: name, author: 'authorId' },
    ...(parent.fields['companyId'] ? { clientThrough: name } : {}),
    payload: (note: AnyRecord, labels: Labels) => ({
      [`${parent.singular}_id`]: note[name],
      note_id: note.id,
      body: note['body'],
      visibility: note['visibility'],
      author_id: note['authorId'],
      client_id: labels[`${name}.companyId`] ?? null,
      created_at: note.createdAt,
    }),
    events: { note_added: { on: 'create', text: `A note was written to a ${noun}.` } },
    examples: {
      create: { body: 'The fuse was blown; a new one is in.', visibility: 'public' },
      update: { visibility: 'internal' },
    },
    ...portalOf(parent),
  });
}

const declared = new Map<Resource, Resource>();

/** The row of a resource's notes, always the same object; null where it has none. */
export function notesOf(parent: Resource): Resource | null {
  if (!parent.hasNotes) return null;
  const known = declared.get(parent) ?? declare(parent);
  declared.set(parent, known);
  return known;
}
