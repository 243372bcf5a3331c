/** Fields that the destination has no column for: written nowhere, so they are told and counted. */
import { blockOf } from '../../blocks/define-block.ts';
import { schemaDriftBlock } from '../../blocks/schema-drift/index.ts';
import type { WriteResult } from '../../kit/sink.ts';
import type { Invocation } from '../row/invocation.ts';
import type { Tally } from '../row/tally.ts';
import { SCHEMA_DRIFT } from '../stages/schema-drift.ts';

/** Names that are kept; a record may hold a new one each time. */
const MOST_NAMES = 100;

/** Gives the names that are new. */
export function countUnknownFields(
  tally: Pick<Tally, 'unknownFields'>,
  fields: ReadonlyMap<string, number>,
): string[] {
  const news: string[] = [];
  for (const [field, records] of fields) {
    const before = tally.unknownFields.get(field);
    if (before === undefined && tally.unknownFields.size >= MOST_NAMES) continue;
    if (before === undefined) news.push(field);
    tally.unknownFields.set(field, (before ?? 0) + records);
  }
  return news;
}

/**
 * Without a `schema` block drift is warned of all the same, when a name is seen first. With one,
 * its stage has told it.
 */
export function noteUnknownFields(
  { tally, env, row, labels }: Invocation,
  { unknownFields }: WriteResult,
): void {
  if (unknownFields === undefined) return;
  const news = countUnknownFields(tally, unknownFields);
  if (blockOf(row, schemaDriftBlock) !== undefined) return;
  const drift = { ...labels, connector: row.sink.type, mode: 'warn', kind: 'added' };
  env.metrics.inc(SCHEMA_DRIFT, drift, unknownFields.size);
  if (news.length === 0) return;
  env.log.warn('fields that the destination has no column for are not written', {
    row: row.id,
    fields: news.map((name) => JSON.stringify(name)).join(', '),
    hint: 'drop or rename them, add the columns, or set `schema.on_drift`',
  });
}
