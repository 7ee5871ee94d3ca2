/** What the platform ships: templates and the event catalog. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { problem } from '../../contracts/problem';
import { eventCatalog } from '../../catalog/events';
import { templates } from '../../catalog/templates';
import { stateTag } from '../../domain/etag';
import { addAgent, cloneOf, made } from './agents';

type Names = 'listTemplates' | 'cloneTemplate' | 'listEvents';

/** The state of the whole catalog, which never changes while the process runs; a selection is named by its filter. */
const CATALOG_STATE = stateTag(eventCatalog.all);

export const catalogHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async listTemplates({ query }) {
    const shown = templates.filter((template) => !query.category || template.category === query.category);
    return { status: 200, body: { templates: shown }, etag: stateTag(shown.map(({ id, version }) => [id, version])) };
  },

  async cloneTemplate({ context, principal, params, body, newId, isRepeat }) {
    const clone = { id: newId('agt'), isRepeat, orgId: principal.orgId };
    const template = templates.find((candidate) => candidate.id === params.id);
    const agent = template
      ? await addAgent(context, {
          ...clone,
          type: 'cloned',
          definition: { ...template.definition, name: body.name ?? template.name },
          source: { kind: 'template', id: template.id, version: template.version },
        })
      : params.id.startsWith('agt_system_') && (await cloneOf(context, params.id, clone, body.name));
    if (!agent) throw problem('template_not_found');
    return made(agent);
  },

  async listEvents({ query }) {
    const events = eventCatalog.all.filter(
      (entry) =>
        (!query.source_product || entry.source_product === query.source_product) &&
        (!query.category || entry.category === query.category),
    );
    return { status: 200, body: { events }, etag: stateTag(CATALOG_STATE, query) };
  },
};
