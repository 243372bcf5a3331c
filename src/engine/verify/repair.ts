/**
 * Writes what differs through the sink of the row: records of the source as upserts, and keys that
 * only the destination has as deletions.
 */
import { onlyBlocks } from '../../blocks/define-block.ts';
import { schemaDriftBlock } from '../../blocks/schema-drift/index.ts';
import { contractBlock } from '../../blocks/contract/index.ts';
import { qualityBlock } from '../../blocks/quality/index.ts';
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { WriteMode } from '../../kit/sink.ts';
import type { DlqPlan } from '../../blocks/dlq/plan.ts';
import type { PlannedRow, PlannedSink } from '../../plan/plan.ts';
import type { VerifyReport } from '../../wire/verify.ts';
import { dryRunSink } from '../row/dry-run-sink.ts';
import { SINGLE_ITERATION } from '../expand/iteration.ts';
import { openInvocation } from '../row/open.ts';
import type { ExecutionFence } from '../row/execution-fence.ts';
import type { InvocationRequest } from '../row/request.ts';
import { OutputClaims } from '../row/output-claims.ts';
import { moveInvocation } from '../row/move-invocation.ts';
import { recordSource, stubPart } from '../stub-part.ts';
import { storedValue } from '../../lib/sql/sqlite-values.ts';
import type { Found } from './keyed-diff.ts';
import { leaseForRepair } from './repair-lease.ts';
import type { VerifySettings } from './settings.ts';

/** What a write of given records needs: they went through transforms and masking already. */
const FOR_DELETES = [resilienceBlock] as const;
const FOR_UPSERTS = [resilienceBlock, qualityBlock, contractBlock, schemaDriftBlock] as const;

/**
 * Before anything is read: throws where a repair is not possible, or not now. The fence is asked before
 * anything is written.
 */
export async function prepareRepair(
  settings: VerifySettings,
  closers: AsyncDisposableStack,
): Promise<ExecutionFence | undefined> {
  assertRepairable(settings);
  if (settings.task.dryRun) return settings.fence;
  return (await leaseForRepair(settings, closers)) ?? settings.fence;
}

/** Throws `RefusedError` when the sink cannot replace single records. */
function assertRepairable({ row, writes, task }: VerifySettings): void {
  const needed: WriteMode[] = task.allowDelete ? ['upsert', 'delete'] : ['upsert'];
  const missing = needed.find((mode) => !writes.writeModes.includes(mode));
  if (missing === undefined) return;
  throw new RefusedError(
    'bad_config',
    `the sink \`${row.sink.type}\` of row \`${row.id}\` cannot repair single records: it has no \`${missing}\``,
    {
      hint: 'leave the repair out, and run the row again',
    },
  );
}

/**
 * Duplicate keys are left alone, because it is unknown which record is right. Deletions come first:
 * an upsert may take the place of a record whose key only one side treats as equal.
 */
export async function repair(
  settings: VerifySettings,
  found: readonly Found[],
  { source, destination, fence }: RepairOptions,
): Promise<Pick<VerifyReport, 'repaired_upserts' | 'repaired_deletes'>> {
  const { task, row } = settings;
  const records = found.flatMap(({ record }) => (record === undefined ? [] : [record]));
  const extra = task.allowDelete ? found.flatMap(deletable) : [];
  if (task.dryRun) return { repaired_upserts: records.length, repaired_deletes: extra.length };
  const deletes = {
    ...rowFor(settings, 'delete'),
    blocks: onlyBlocks(row, FOR_DELETES),
    metadataColumns: undefined,
  };
  const upserts = { ...rowFor(settings, 'upsert'), blocks: onlyBlocks(row, FOR_UPSERTS) };
  const deleted = await write(settings, deletes, { records: extra, schema: destination, fence });
  const written = await write(settings, upserts, { records, schema: source, fence });
  return { repaired_upserts: written, repaired_deletes: deleted };
}

/**
 * The key of a record that only the destination has, where a deletion can name it and nothing else:
 * not where it is null in part, and not where it is true or false, which some databases take for 1
 * or 0; a SQLite file knows how it stores it.
 */
function deletable({ extraKey }: Found): JsonObject[] {
  if (extraKey === undefined) return [];
  const isNamed = Object.entries(extraKey).every(
    ([name, value]) =>
      value !== null && (typeof value !== 'boolean' || storedValue(extraKey, name) !== undefined),
  );
  return isNamed ? [extraKey] : [];
}

export interface RepairOptions {
  /** What is known of the fields of each side. */
  readonly source: RecordSchema | undefined;
  readonly destination: RecordSchema | undefined;
  readonly fence: ExecutionFence | undefined;
}

interface Written {
  readonly records: readonly JsonObject[];
  readonly schema: RecordSchema | undefined;
  readonly fence: ExecutionFence | undefined;
}

/** Gives how many records the sink took. */
async function write(
  settings: VerifySettings,
  row: PlannedRow,
  { records, schema, fence }: Written,
): Promise<number> {
  if (records.length === 0) return 0;
  const { env, plan, runId, invocationId, credentials, tokens, kill, stop } = settings;
  await using closers = new AsyncDisposableStack();
  const request: InvocationRequest = {
    env,
    plan,
    row: { ...row, source: stubPart(row.source, recordSource(records, schema)) },
    runId,
    fence,
    invocationId,
    credentials,
    tokens,
    iteration: SINGLE_ITERATION,
    stop,
    kill,
    claims: new OutputClaims(env.cwd),
  };
  const invocation = await openInvocation(request, closers);
  await moveInvocation(invocation);
  return invocation.tally.written;
}

/**
 * The row reduced to what writing these records needs; they passed its transforms and masking
 * already.
 */
function rowFor({ row, key, hasPutAside }: VerifySettings, mode: 'upsert' | 'delete'): PlannedRow {
  const { cleanUp: _cleanUp, ...rest } = row;
  return {
    ...rest,
    sink: sinkFor(row.sink, mode, key),
    dlq: row.dlq === undefined || hasPutAside !== true ? row.dlq : leadingNowhere(row.dlq),
    transforms: [],
    state: undefined,
    delivery: 'at_least_once',
    adaptiveBatch: undefined,
    partition: undefined,
    shard: undefined,
    lane: { lane: RECORDS_LANE, reason: 'records: a repair' },
  };
}

function leadingNowhere(dlq: DlqPlan): DlqPlan {
  const definition = { ...dlq.sink.definition, open: () => Promise.resolve(dryRunSink()) };
  return { ...dlq, sink: { ...dlq.sink, definition } };
}

function sinkFor(
  sink: PlannedSink,
  mode: 'upsert' | 'delete',
  key: readonly string[],
): PlannedSink {
  const config: JsonObject = { ...sink.config, write_mode: mode, key: [...key] };
  if (mode === 'delete') delete config['delete_marker'];
  return { ...sink, config, deferred: true, parsed: undefined };
}
