/**
 * Replays dead letters: their payloads pass the stages and the sink of a row, and records that fail
 * again go to a new queue.
 */
import { onlyBlocks } from '../../blocks/define-block.ts';
import { schemaDriftBlock } from '../../blocks/schema-drift/index.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import { contractBlock } from '../../blocks/contract/index.ts';
import { qualityBlock } from '../../blocks/quality/index.ts';
import { rollbackBlock } from '../../blocks/rollback/index.ts';
import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { execute } from '../../engine/execute.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { Parts } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import { replacedOutput } from '../../kit/sink.ts';
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import type { DlqPlan } from '../../blocks/dlq/plan.ts';
import type { Plan, PlannedRow, PlannedSink } from '../../plan/plan.ts';
import type { ReplayReport, ReplayTask } from '../../wire/dlq.ts';
import type { OutcomeError } from '../../wire/outcome.ts';
import { deadLetterSource } from './dead-letter-source.ts';
import { locate } from './location.ts';
import { takeOverLeft } from './purge.ts';
import { assertIsThere, Reading } from './reading.ts';
import { leaseForReplay } from './replay-lease.ts';

export interface ReplayRequest extends ReplayTask {
  readonly plan: Plan;
  readonly parts: Parts;
  readonly env: Env;
  readonly signal: AbortSignal;
}

export interface Replayed {
  readonly report: ReplayReport;
  /** Records that went to the fresh queue. */
  readonly failedAgain: number;
  /** Why the replay ended early. */
  readonly error: OutcomeError | null;
}

/** Leaves the dead letters in their queue; `purge` removes them. Throws `RefusedError`, and `RunError` while others replay into the row. */
export async function replay(request: ReplayRequest): Promise<Replayed> {
  const { plan, parts, env, dryRun, reason, cause, letter, payload } = request;
  const row = rootRow(plan, request.row);
  const sealing = sealingOf(row);
  const keys =
    request.keys.length > 0
      ? request.keys
      : sealing === undefined
        ? []
        : [sealing.key, ...sealing.previous];
  const { files, failedAgain } = await locate(request.from, { cwd: env.cwd });
  if (!dryRun) for (const file of files) await takeOverLeft(await realpath(file));
  const failed =
    request.failedDlq === undefined ? failedAgain : resolve(env.cwd, request.failedDlq);
  const [place, ...read] = await Promise.all(
    [failed, ...files].map((path) => realpath(path).catch(() => path)),
  );
  if (read.some((path) => path === place)) {
    throw new RefusedError('bad_config', `${failed} is one of the files that are replayed`, {
      hint: 'name another file with `failed_dlq`, or replay fewer files',
    });
  }
  const sink = appendingSink(row.sink);
  const others = new Set(
    [...plan.rows, ...plan.unselected, ...(plan.topology?.nodes ?? [])]
      .map(({ id }) => id)
      .filter((id) => id !== row.id),
  );
  const { definition, parsed, judged } = row.source;
  if (letter !== undefined) await assertIsThere(files, { keys, letter });
  const reading = new Reading(files, {
    keys,
    filter: { reason, cause, letter },
    payload,
    isOther: (id) => others.has(id),
    source: { definition, config: parsed ?? judged },
  });
  if (dryRun) {
    for await (const _deadLetter of reading.deadLetters()) request.signal.throwIfAborted();
    return {
      report: reading.report({ records_written: 0, failed_dlq: failed, dry_run: true }),
      failedAgain: 0,
      error: null,
    };
  }
  await using closers = new AsyncDisposableStack();
  const fence = await leaseForReplay({ ...request, files }, row, closers);
  const dlq = freshQueue({ row, parts, failed, sealing });
  const source = {
    ...row.source,
    deferred: false,
    parsed: {},
    definition: deadLetterSource(() => reading.deadLetters()),
  };
  const replayed: PlannedRow = { ...rowAlone(row, request.asWritten), source, sink, dlq };
  const outcome = await execute({
    plan: {
      ...withoutGraph(plan),
      rows: [replayed],
      unselected: [],
      fanOuts: [],
      unselectedFanOuts: [],
    },
    parts,
    env,
    runId: env.ids.next(),
    fence,
    clock: env.clock.now(),
    signal: request.signal,
  });
  return {
    report: reading.report({
      records_written: outcome.records_written,
      failed_dlq: failed,
      dry_run: false,
    }),
    failedAgain: outcome.invocations.reduce((sum, { balance }) => sum + balance.dead_lettered, 0),
    error: outcome.error ?? (outcome.status === 'cancelled' ? STOPPED : null),
  };
}

/** A replay that did not read all dead letters is an error: the user may discard them afterwards. */
const STOPPED: OutcomeError = {
  code: 'replay_stopped',
  kind: 'Custom',
  message:
    'the replay was stopped before the last dead letter: the records written so far stay, and all dead letters remain in their queue',
  hint: 'replay them again before you discard them; a sink that appends will then hold the records written so far twice',
};

function rootRow({ rows }: Plan, id: string | undefined): PlannedRow {
  const roots = rows.filter((row) => row.role === 'root');
  const row = id === undefined ? roots[0] : roots.find((one) => one.id === id);
  if (row !== undefined) return row;
  const message =
    id === undefined ? 'the document has no root row' : `there is no root row called \`${id}\``;
  throw new RefusedError('bad_config', message, {
    hint: `root rows: ${roots.map((one) => one.id).join(', ')}`,
  });
}

/**
 * The row without what concerns its own source: its bookmarks, and the comparison of the destination
 * with it.
 */
function rowAlone(row: PlannedRow, asWritten: boolean): PlannedRow {
  const { cleanUp: _cleanUp, ...rest } = row;
  const kept = [resilienceBlock, rollbackBlock, qualityBlock, contractBlock, schemaDriftBlock];
  return {
    ...rest,
    index: 0,
    replays: true,
    parent: undefined,
    dependsOn: [],
    forEach: [],
    collected: [],
    partition: undefined,
    shard: undefined,
    state: undefined,
    delivery: 'at_least_once',
    transforms: asWritten ? [] : row.transforms,
    blocks: onlyBlocks(row, asWritten ? kept : [...kept, maskingBlock]),
    lane: { lane: RECORDS_LANE, reason: 'records: dead letters are read' },
  };
}

function withoutGraph({ topology: _topology, ...plan }: Plan): Plan {
  return plan;
}

/** Settings that make a sink append, by its name for them. */
const APPEND_SETTINGS: readonly JsonObject[] = [
  { append: true },
  { if_exists: 'append' },
  { write_mode: 'append' },
];

/**
 * A replay writes a few records of many: a sink that replaces its content with each run would lose all
 * others.
 */
function appendingSink(sink: PlannedSink): PlannedSink {
  if (!replaces(sink, sink.judged ?? sink.parsed)) return sink;
  for (const setting of APPEND_SETTINGS) {
    const config = { ...sink.config, ...setting };
    const checked = check(sink.definition.config, config);
    if (!checked.ok || replaces(sink, checked.value)) continue;
    return { ...sink, config, parsed: sink.deferred ? undefined : checked.value };
  }
  throw new RefusedError(
    'unprocessable',
    `the sink \`${sink.type}\` replaces what it wrote before: a replay would leave only the replayed records`,
    {
      hint: 'replay into a document whose sink appends or upserts',
    },
  );
}

function replaces({ definition }: PlannedSink, config: unknown): boolean {
  if (config === undefined) return false;
  return replacedOutput(definition, config) !== undefined;
}

interface Sealing {
  readonly key: string;
  readonly previous: readonly string[];
}

/** How the row's own dead letters are sealed. */
function sealingOf({ dlq }: PlannedRow): Sealing | undefined {
  const encryption = dlq?.sink.config['encryption'];
  if (dlq?.sink.type !== 'jsonl' || !isObject(encryption) || typeof encryption['key'] !== 'string')
    return undefined;
  const previous = encryption['previous_keys'];
  return { key: encryption['key'], previous: Array.isArray(previous) ? previous.map(String) : [] };
}

interface FreshQueue {
  readonly row: PlannedRow;
  readonly parts: Parts;
  readonly failed: string;
  readonly sealing: Sealing | undefined;
}

/** A new queue with the budgets of the row's own, and sealed when that one is. */
function freshQueue({ row, parts, failed, sealing }: FreshQueue): DlqPlan {
  const definition = parts.sinks.get('jsonl');
  if (definition === undefined)
    throw new RefusedError(
      'unprocessable',
      'this build has no `jsonl` sink for dead letters that fail again',
    );
  const config: JsonObject = {
    path: failed,
    compression: 'none',
    ...(sealing === undefined ? {} : { encryption: { key: sealing.key } }),
  };
  const parsed = definition.config.parse(config);
  const sink = {
    path: 'failed_dlq',
    type: definition.type,
    preset: 'default',
    definition,
    config,
    deferred: false,
    parsed,
  };
  const unlimited = {
    onBatchError: 'propagate',
    maxFailuresPerPage: undefined,
    maxFailuresTotal: undefined,
  } as const;
  return { ...(row.dlq ?? unlimited), sink };
}
