/** The OpenAPI documents this product publishes: one per service and one over all. */
import type { Operation, ServiceName } from '../contracts/operation';
import { SERVICES } from '../contracts/operation';
import { agentOperations } from '../contracts/operations/agents';
import { consoleOperations } from '../contracts/operations/console';
import { portalOperations } from '../contracts/operations/portal';
import { productOperations } from '../contracts/operations/products';
import { openApiDocument } from './openapi';
import type { Json } from './openapi-schemas';

const TITLES: Record<ServiceName, string> = {
  agents: 'Agents',
  mail: 'Email',
  console: 'Console',
  psa: 'PSA',
  crm: 'CRM',
  books: 'Books',
  rmm: 'RMM',
  security: 'Security',
  defend: 'Defend',
  backups: 'Backups',
  voice: 'Voice',
  portal: 'Portal',
};

/** Every operation of every service. */
export const allOperations: readonly Operation[] = [
  ...(Object.values(agentOperations) as Operation[]),
  ...(Object.values(consoleOperations) as Operation[]),
  ...productOperations,
  ...(Object.values(portalOperations) as Operation[]),
];

/** The services that have operations, in the order of their mounts. */
export const documentedServices: readonly ServiceName[] = SERVICES.filter((service) =>
  allOperations.some((operation) => operation.service === service),
);

/** Name of a service as people write it. */
export const titleOf = (service: ServiceName): string => TITLES[service];

/** The document of one service; its paths are below `/<service>`. */
export const serviceDocument = (service: ServiceName): Json =>
  openApiDocument(
    allOperations.filter((operation) => operation.service === service),
    { title: `Signalbox ${titleOf(service)} API`, service, serverPath: `/${service}` },
  );

/** The document of the whole origin. */
export const wholeDocument = (): Json =>
  openApiDocument(allOperations, { title: 'Signalbox APIs', service: 'all', serverPath: '' });
