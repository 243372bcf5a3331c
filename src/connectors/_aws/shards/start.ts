/** Which shards a read begins with, and where. */
import type { Log } from '../../../lib/log.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Shard, ShardPosition } from './shard.ts';

export interface Start {
  readonly position: ShardPosition;
  /** Only these; all when absent. */
  readonly only?: readonly string[] | undefined;
  /** Whether a first read takes shards to which nothing is added any more. */
  readonly includeClosed: boolean;
}

export interface StartedShard {
  readonly shard: Shard;
  readonly position: ShardPosition | 'end';
}

export function startedShards(
  listed: readonly Shard[],
  start: Start,
  { marks, log }: { readonly marks: Marks | undefined; readonly log: Pick<Log, 'warn'> },
): StartedShard[] {
  const chosen = chosenShards(listed, start.only);
  if (marks === undefined)
    return chosen
      .filter(({ isClosed }) => !isClosed || start.includeClosed || start.only !== undefined)
      .map((shard) => ({ shard, position: start.position }));
  warnOfExpired(listed, { marks, log });
  const before = ancestorsOf(listed, marks);
  return chosen.flatMap((shard): StartedShard[] => {
    const position = marks.get(shard.id);
    if (position !== undefined) return [{ shard, position }];
    // The first read left it out. All others came since: everything in them is new.
    if (shard.isClosed && before.has(shard.id)) return [];
    return [{ shard, position: { type: 'trim_horizon' } }];
  });
}

type Marks = ReadonlyMap<string, ShardPosition | 'end'>;

function chosenShards(listed: readonly Shard[], only: Start['only']): readonly Shard[] {
  if (only === undefined) return listed;
  const missing = only.find((id) => !listed.some((shard) => shard.id === id));
  if (missing === undefined) return listed.filter(({ id }) => only.includes(id));
  throw new ConnectorError('missing', `the stream has no shard \`${missing}\``, {
    hint: `it has: ${listed.map(({ id }) => id).join(', ')}`,
  });
}

/** Shards that those of the bookmark came from. */
function ancestorsOf(listed: readonly Shard[], marks: Marks): ReadonlySet<string> {
  const parents = new Map(listed.map((shard) => [shard.id, shard.parents]));
  const found = new Set<string>();
  const left = [...marks.keys()];
  for (let id = left.pop(); id !== undefined; id = left.pop())
    for (const parent of parents.get(id) ?? []) {
      if (found.has(parent)) continue;
      found.add(parent);
      left.push(parent);
    }
  return found;
}

function warnOfExpired(
  listed: readonly Shard[],
  { marks, log }: { readonly marks: Marks; readonly log: Pick<Log, 'warn'> },
): void {
  for (const shard of lostShards(listed, marks))
    log.warn('a shard was deleted before it was read to its end', { shard });
}

/** Shards of the bookmark that are gone, and were not read to their end. */
export function lostShards(listed: readonly Shard[], marks: Marks): string[] {
  const known = new Set(listed.map(({ id }) => id));
  return [...marks]
    .filter(([id, position]) => position !== 'end' && !known.has(id))
    .map(([id]) => id);
}
