/** T11: `total` of the executions list. */
import { countExecutions } from '../../src/store/executions';
import { median, spread, type Figure } from './figures';
import { inTurn, ratiosOf, turnsOf, type Timed } from './http-load';
import { takingTurns } from './http-stage';
import { finder, type Desk, type Side } from './list-sides';
import { collectionOf } from './seed-rows';

const TURNS = { blocks: 8, share: 0.4 };
const PAGE = 50;
const TOTAL_MAX = 10_000;

/** What `total` costs, and that it stops counting. */
export async function measureTotal(desk: Desk): Promise<Figure[]> {
  const { stage, large, small, ids } = desk;
  const count = ({ database }: Side) => countExecutions(database.store, database.orgId, {});
  const sides = await inTurn(
    { large: () => count(large), small: () => count(small), findOne: finder(large, ids) },
    turnsOf(stage.runs, TURNS),
  );
  const path = `/agents/api/executions?limit=${PAGE}`;
  const ask = stage.client.shot({ port: large.api.port, path, headers: takingTurns(large.keys), status: 200 });
  const { total, total_is_estimate: isEstimate } = JSON.parse((await ask()).text) as {
    total: number;
    total_is_estimate?: boolean;
  };
  const cost = (name: string, side: Timed): Figure => ({
    budget: 'T11',
    name,
    unit: 'ms',
    ours: median(side.latencies),
    bare: median(sides.findOne.latencies),
    ratios: ratiosOf(side, sides.findOne),
    floor: null,
    more: spread(side),
  });
  return [
    {
      budget: 'T11',
      name: 'executions counted at most for `total`, which then says that it is an estimate',
      unit: 'rows',
      ours: isEstimate === true ? total : Number.POSITIVE_INFINITY,
      bare: null,
      floor: { bound: 'at most', value: TOTAL_MAX, of: 'ours' },
      more: { executions: await collectionOf(large.database.store, 'executions').estimatedDocumentCount() },
    },
    cost('`total` where it is capped, against findOne, p50', sides.large),
    cost('`total` of a thousand executions, against findOne, p50', sides.small),
  ];
}
