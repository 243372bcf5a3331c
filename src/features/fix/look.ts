/** What of the first records of a row cannot go on, and why. */
import { opening } from '../../engine/rollback/find-run.ts';
import { traceStages } from '../../engine/preview/trace-stages.ts';
import { wrapConnectorError } from '../../engine/failure.ts';
import { partContext } from '../../engine/row/parts.ts';
import { firstIteration } from '../../engine/expand/iteration.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { Parts } from '../../kit/parts.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { RejectedRecord } from '../../kit/rejected-record.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';

export interface Fault {
  /** `source`, or the stage that refuses the record. */
  readonly stage: string;
  readonly message: string;
  readonly field: string | undefined;
  /** Of the field, or the record as it was read; absent where values are not to be shown. */
  readonly value: JsonValue | undefined;
  /** `line 4 of orders.csv`, or the number of the record. */
  readonly place: string;
}

export interface Look {
  /** Records that the source gave, also those that cannot be read. */
  readonly read: number;
  /** Fields of the records as the source gives them. */
  readonly fields: readonly string[];
  readonly faults: readonly Fault[];
  /** Why nothing goes on at all. */
  readonly fatal: string | undefined;
  /** What of the records reaches the sink. */
  readonly output: readonly JsonValue[];
}

export interface LookRequest {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  readonly row: PlannedRow;
  readonly clock: Date;
  readonly signal: AbortSignal;
  readonly limit: number;
}

export async function look(request: LookRequest): Promise<Look> {
  const found = await readFirst(request);
  const { records, rejected, error } = found;
  const isHidden = blockOf(request.row, maskingBlock) !== undefined;
  const fields = [...new Set(records.flatMap((one) => (isObject(one) ? Object.keys(one) : [])))];
  const unread = rejected.map((one) => faultOfRead(one, isHidden));
  const read = records.length + rejected.length;
  if (error !== undefined) return { read, fields, faults: unread, fatal: error, output: [] };
  const { plan, row, env, clock, signal } = request;
  const trace = await traceStages({
    plan,
    row,
    records,
    schema: found.schema,
    env,
    clock,
    signal,
  });
  const dead = trace.stages.flatMap(({ stage, dead: gone }) =>
    gone.map(({ message, record }) => faultOfStage(stage, message, { record, isHidden })),
  );
  return {
    read,
    fields,
    faults: [...unread, ...dead],
    fatal: trace.error,
    output: trace.output,
  };
}

interface Found {
  readonly records: readonly JsonValue[];
  readonly rejected: readonly RejectedRecord[];
  readonly schema: RecordSchema | undefined;
  readonly error: string | undefined;
}

async function readFirst({
  plan,
  parts,
  env,
  row,
  clock,
  limit,
  ...request
}: LookRequest): Promise<Found> {
  const leave = new AbortController();
  const signal = AbortSignal.any([request.signal, leave.signal]);
  const tokens = { now: { date: clock, zone: 'UTC' }, records: firstIteration(row).records };
  const records: JsonValue[] = [];
  const rejected: RejectedRecord[] = [];
  let schema: RecordSchema | undefined;
  try {
    const opener = opening({ env, plan, parts, signal }, env.ids.next());
    const context = { ...partContext({ ...opener, row }), pageBytes: 1024 * 1024 };
    const source = await row.source.definition.open(resolvePart(row.source, tokens), context);
    try {
      for await (const page of source.pages({ lane: RECORDS_LANE, limit, rejects: true })) {
        schema = page.schema;
        rejected.push(...page.rejected);
        records.push(...page.records().slice(0, limit - records.length));
        if (records.length + rejected.length >= limit) break;
      }
    } finally {
      leave.abort();
      await source.close();
    }
    return { records, rejected, schema, error: undefined };
  } catch (failure) {
    request.signal.throwIfAborted();
    const wrapped = wrapConnectorError('Source', row.source.type, failure);
    return { records, rejected, schema, error: env.redactor.text(messageOf(wrapped)) };
  }
}

function faultOfRead({ message, payload, input, at }: RejectedRecord, isHidden: boolean): Fault {
  const where = at.line === undefined ? input : `line ${at.line} of ${input}`;
  return { stage: 'source', ...faultOf(message, payload, isHidden), place: where };
}

function faultOfStage(
  stage: string,
  message: string,
  { record, isHidden }: { readonly record: JsonValue; readonly isHidden: boolean },
): Fault {
  return { stage, ...faultOf(message, record, isHidden), place: '' };
}

/** Messages name the field between backquotes. */
function faultOf(
  message: string,
  record: JsonValue,
  isHidden: boolean,
): Pick<Fault, 'message' | 'field' | 'value'> {
  const named = [...message.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');
  const field = isObject(record) ? named.find((name) => hasField(record, name)) : undefined;
  const value = isObject(record) && field !== undefined ? record[field] : record;
  return { message, field, value: isHidden ? undefined : value };
}

/** Fewer records that cannot go on, or more fields where one was all that was found. */
export function isBetter(now: Look, before: Look): boolean {
  if ((now.fatal === undefined) !== (before.fatal === undefined)) return now.fatal === undefined;
  // What was hidden in one column may have faults of its own.
  if (now.fields.length !== before.fields.length && before.fields.length <= 1)
    return now.fields.length > before.fields.length;
  return now.faults.length < before.faults.length;
}
