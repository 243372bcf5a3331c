/** Fields that the destination does not write, or not exactly: they are told and counted. */
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
  return countFields(tally.unknownFields, fields);
}

function countFields(counts: Map<string, number>, fields: ReadonlyMap<string, number>): string[] {
  const news: string[] = [];
  for (const [field, records] of fields) {
    const before = counts.get(field);
    if (before === undefined && counts.size >= MOST_NAMES) continue;
    if (before === undefined) news.push(field);
    counts.set(field, (before ?? 0) + records);
  }
  return news;
}

/** Values that the destination does not hold exactly are told when a field has one first. */
export function noteRoundedFields(
  { tally, env, row }: Invocation,
  { roundedFields }: WriteResult,
): void {
  if (roundedFields === undefined) return;
  const news = countFields(tally.roundedFields, roundedFields);
  if (news.length === 0) return;
  env.log.warn('values are rounded, because their columns do not hold them exactly', {
    row: row.id,
    fields: news.map((name) => JSON.stringify(name)).join(', '),
    hint: 'give the columns a wider type, round the values before, or set `on_rounding: error` to fail the run instead',
  });
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
