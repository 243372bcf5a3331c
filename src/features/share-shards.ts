/** The shards of a run between the servers of a cluster and the engine. */
import type { ShardSharing } from '../engine/engine.ts';
import type { Shard as EngineShard } from '../engine/expand/iteration.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunEvent } from '../wire/run-event.ts';
import type { RequestOf } from '../wire/job.ts';
import type { Shard } from '../wire/shards.ts';

/** Undefined where the run is executed whole. */
export function sharingOf(
  { shard, claim }: RequestOf<'run'>,
  plan: Plan,
  send: (event: RunEvent) => void,
): ShardSharing | undefined {
  if (shard !== undefined) return { only: engineShard(shard) };
  const [row, ...others] = plan.rows;
  const isAlone =
    row?.shard !== undefined &&
    row.role === 'root' &&
    others.length + plan.fanOuts.length === 0 &&
    plan.topology === undefined;
  if (claim === undefined || !isAlone) return undefined;
  return {
    divert: (found) => {
      if (found.length < 2) return false;
      const shards = found.map((one, index) => wireShard(row.id, index, one));
      send({ kind: 'sharded', shards });
      return true;
    },
  };
}

function wireShard(row: string, index: number, { id, span, share }: EngineShard): Shard {
  if (share !== undefined)
    return { row, index, id, from: null, to: null, nulls: false, shares: share.count };
  const { from, to, nulls } = span;
  return { row, index, id, from: from?.toString() ?? null, to: to?.toString() ?? null, nulls };
}

function engineShard({ id, index, from, to, nulls, shares }: Shard): EngineShard {
  if (shares !== undefined) return { id, share: { index, count: shares } };
  const span = {
    ...(from === null ? {} : { from: BigInt(from) }),
    ...(to === null ? {} : { to: BigInt(to) }),
    nulls,
  };
  return { id, span };
}
