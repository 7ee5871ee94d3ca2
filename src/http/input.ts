/** What a request says, checked: parameters of the path and the query, and the body. */
import { parse as parseQuery } from 'node:querystring';
import type { Request } from 'express';
import type { Operation } from '../contracts/operation';
import { problem, refuseFindings, type Finding } from '../contracts/problem';
import type { Sent } from '../contracts/version';
import { below } from '../domain/definition/findings';
import { LIST_ITEMS } from '../resources/filters';
import { numberFindings } from './body-numbers';
import { shapeFindings } from './body-shape';
import { textOfNumbers } from './read-body';
import type { Validator } from './validate';
import type { Way } from './versions';

/** The checks of one route; null where nothing of the kind is taken. */
export interface InputChecks {
  operation: Operation;
  params: Validator | null;
  query: Validator | null;
  body: Validator | null;
}

/**
 * The parameters as sent: text, or a list of what was given more than once. What is encoded in another character set would
 * be another text than was asked for, which nothing has and every `ne` finds.
 */
function queryOf({ url }: Request): Record<string, unknown> {
  const start = url.indexOf('?');
  if (start < 0) return {};
  try {
    decodeURIComponent(url.slice(start));
  } catch {
    throw problem('invalid_parameter', { message: 'The query is not valid percent-encoding of UTF-8.' });
  }
  return parseQuery(url.slice(start + 1));
}

/** Many clients repeat a parameter for each of its values unless they are told otherwise. */
function singleValued(query: Record<string, unknown>, { query: schema }: Operation): Finding[] {
  const known = (schema?.['properties'] ?? {}) as Record<string, { [LIST_ITEMS]?: unknown } | undefined>;
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]));
  return repeated.map((name) => {
    const how = known[name]?.[LIST_ITEMS] === undefined ? '' : `, with commas between its values: ${name}=…,…`;
    return { path: name, code: 'repeated', message: `${name} may be given once${how}` };
  });
}

function check(findings: Finding[], operation: Operation, where: 'query' | 'body'): void {
  refuseFindings(findings, where, where === 'body' ? operation.invalidBody : undefined);
}

const noParameters = (query: Record<string, unknown>): Finding[] =>
  Object.keys(query).map((name) => ({
    path: name,
    code: 'unknown_field',
    message: 'this endpoint takes no query parameters',
  }));

const FIELDS_TOLD_MAX = 20;

/** Operations without a body take an empty one: what else is sent was meant for something that would not happen. */
function noFields(sent: unknown): Finding[] {
  if (sent === undefined) return [];
  const refusal = { code: 'unknown_field', message: 'this operation takes no body' };
  const isObject = typeof sent === 'object' && sent !== null && !Array.isArray(sent);
  return isObject
    ? Object.keys(sent)
        .slice(0, FIELDS_TOLD_MAX)
        .map((name) => ({ path: below('', name), ...refusal }))
    : [{ path: '', ...refusal }];
}

/**
 * The body as sent. Depth first: a recursive schema must not follow nesting that nobody needs, nor must the search for
 * numbers that were read as others; `numbers` is the text of a body that may have some.
 */
function readBody(
  route: InputChecks,
  sent: unknown,
  params: Record<string, unknown>,
  numbers: string | undefined,
): unknown {
  if (!route.body) {
    check(noFields(sent), route.operation, 'body');
    return undefined;
  }
  // A request without a body means the empty object wherever that is a valid one.
  const mayBeEmpty = sent === undefined && route.body({}).length === 0;
  const body: unknown = mayBeEmpty ? {} : sent;
  if (body === undefined) {
    throw problem(route.operation.invalidBody ?? 'validation_error', {
      message: 'A JSON body is required; send it as application/json.',
    });
  }
  check(shapeFindings(body), route.operation, 'body');
  if (numbers !== undefined) check(numberFindings(numbers), route.operation, 'body');
  const findings = route.body(body);
  const { fixed } = route.operation;
  if (findings.length > 0 && fixed?.isAt(params)) throw problem('forbidden', { message: fixed.why });
  check(findings, route.operation, 'body');
  return body;
}

/** Parameters arrive as text, which is validated and coerced in place. */
export function readInput(route: InputChecks, request: Request, way: Way | undefined) {
  const params: Record<string, unknown> = { ...request.params };
  // A path id that no record can have is simply an id that does not exist.
  if (route.params && route.params(params).length > 0) throw problem(notFoundCode(route.operation));
  const sent = { query: queryOf(request), body: request.body as unknown };
  check(singleValued(sent.query, route.operation), route.operation, 'query');
  const { query, body } = way ? raised(route, sent, way) : sent;
  check(named(route.query ? route.query(query) : noParameters(query), query), route.operation, 'query');
  return { query, params, body: readBody(route, body, params, textOfNumbers(request)) };
}

/** A request of an older version, checked as that version has it and then made one of the latest. */
function raised({ operation }: InputChecks, sent: Sent, way: Way): Sent {
  if (way.query) check(named(way.query(sent.query), sent.query), operation, 'query');
  if (way.body) {
    check(shapeFindings(sent.body), operation, 'body');
    check(way.body(sent.body ?? {}), operation, 'body');
  }
  return way.up(sent);
}

/** In an address a plus is a space, which is what is left of the offset of a moment. */
const OFFSET_WITHOUT_PLUS = /T[\d:.]+ \d{2}:\d{2}$/;

/** Query findings name the parameter, not a pointer. */
const named = (findings: Finding[], query: Record<string, unknown>): Finding[] =>
  findings.map((finding) => {
    const path = finding.path.replace(/^\//, '');
    const given = query[path];
    const hasLostPlus = finding.code === 'format' && typeof given === 'string' && OFFSET_WITHOUT_PLUS.test(given);
    return {
      ...finding,
      path,
      message: `${finding.message}${hasLostPlus ? '; write the + of its offset as %2B' : ''}`,
    };
  });

const notFoundCode = (operation: Operation) =>
  operation.errors?.find((code) => code.endsWith('not_found')) ?? 'not_found';
