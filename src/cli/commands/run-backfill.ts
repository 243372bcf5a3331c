/** `headgate backfill`, from the options to the exit code. */
import { backfillBlock } from '../../blocks/backfill/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { availableParallelism } from 'node:os';
import { bookmarkRangeOf, type BookmarkRange } from '../../features/backfill/bookmark-range.ts';
import { isFailed, Marker } from '../../features/backfill/marker.ts';
import { leaseRange, storeUnder } from '../../features/backfill/range-lease.ts';
import { runUnits, type UnitResult } from '../../features/backfill/run-units.ts';
import {
  StateKeys,
  subjectOf,
  withSink,
  type BackfillSubject,
} from '../../features/backfill/subject.ts';
import {
  bookmarkWork,
  windowWork,
  type UnitWork,
  type Working,
} from '../../features/backfill/unit-work.ts';
import { openBackfillState, type BackfillState } from '../../features/backfill/backfill-state.ts';
import { MANY_UNITS, planUnits, type BackfillPlan } from '../../features/backfill/units.ts';
import { createNotifier } from '../../features/notifications/index.ts';
import { observed } from '../../features/observers.ts';
import { execute } from '../../engine/execute.ts';
import { fenceOfLease } from '../../engine/row/execution-fence.ts';
import { releaseLease, type StateLease } from '../../engine/row/state-lease.ts';
import { openLogins } from '../../engine/logins.ts';
import { PendingNotifications } from '../../engine/observe/pending-notifications.ts';
import { threadsToSpare } from '../../engine/threads/budget.ts';
import { partContext } from '../../engine/row/parts.ts';
import { findTokens } from '../../document/tokens/find-tokens.ts';
import {
  CLEAN_UP_HINT,
  cleanUpFault,
  SCOPING_HINT,
  unscopedCleanUps,
  unscopedSources,
} from '../../blocks/backfill/rules.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { AppError } from '../../lib/errors.ts';
import { Outages } from '../../lib/outages.ts';
import type { CliContext } from '../framework/context.ts';
import { documentEnv } from '../documents/document-env.ts';
import type { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { countedExit, signalExit, usageError } from '../framework/exit.ts';
import { loadPlan, type Loaded } from '../documents/load-plan.ts';
import type { Values } from '../framework/option.ts';
import { quieterLog } from '../framework/quieter-log.ts';
import { count, seconds } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';
import { factsOf } from '../../features/plan-view/row-facts.ts';
import { listenForStop } from '../framework/signals.ts';

export interface BackfillValues extends Values<typeof DOCUMENT_OPTIONS> {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly window: string | undefined;
  readonly timezone: string | undefined;
  readonly concurrency: number | undefined;
  readonly row: string | undefined;
  readonly into: string | undefined;
  readonly resume: boolean;
  readonly restart: boolean;
  readonly fromBookmark: string | undefined;
  readonly toBookmark: string | undefined;
  readonly bookmarkField: string | undefined;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** A backfill that is ready to run. */
interface Prepared {
  readonly loaded: Loaded;
  readonly subject: BackfillSubject;
  readonly keys: StateKeys;
  readonly hash: string;
  readonly descriptor: string;
  readonly units: readonly UnitWork[];
}

export async function backfill(
  context: CliContext,
  config: string | undefined,
  options: BackfillValues,
): Promise<number> {
  const prepared = await prepare(context, config, options);
  const { subject, loaded } = prepared;
  using stops = listenForStop(context.world, 'cancel', (signal) =>
    context.terminal.note(
      `${signal}: stopping at the next page; \`--resume\` goes on; once more ends at once`,
    ),
  );
  await using surroundings = options.dryRun
    ? undefined
    : await documentEnv(context, loaded.plan, false);
  const { env: loud } = surroundings ?? context;
  const env = { ...loud, log: quieterLog(loud.log) };
  const credentials = openLogins({ ...loaded, env }, stops.signal);
  const opener = {
    env,
    plan: loaded.plan,
    row: subject.row,
    invocationId: env.ids.next(),
    kill: new AbortController().signal,
    credentials,
  };
  const state = await openBackfillState(subject.row, partContext(opener));
  let lease: StateLease | undefined;
  try {
    if (options.dryRun) return await printUnits(context, prepared, state, options);
    lease = await leaseRange(state.shared, prepared.keys.marker, {
      env,
      plan: loaded.plan,
      row: subject.row,
      runId: env.ids.next(),
    });
    warn(context, prepared, state);
    const notifier = createNotifier(env);
    const [outages, pendingNotifications] = [new Outages(env.clock), new PendingNotifications()];
    const concurrency =
      options.concurrency ?? blockOf(loaded.plan, backfillBlock)?.concurrency ?? 1;
    const threads = threadsToSpare(availableParallelism(), concurrency);
    const results = await runUnits({
      env,
      pipeline: loaded.plan.name,
      units: prepared.units,
      place: {
        store: storeUnder(lease, state.store),
        key: prepared.keys.marker,
        descriptor: prepared.descriptor,
      },
      lease,
      concurrency,
      again: options.resume ? 'resume' : options.restart ? 'restart' : 'refuse',
      signal: stops.signal,
      execute: async ({ clock }, plan) => {
        const watched = await observed(plan, env, { notifier, outages });
        const { parts } = loaded;
        const onNotifying = pendingNotifications.add;
        return execute({
          ...watched,
          plan,
          parts,
          runId: env.ids.next(),
          fence: lease === undefined ? undefined : fenceOfLease({ lease, clock: env.clock }),
          clock,
          signal: stops.signal,
          credentials,
          threads,
          onNotifying,
        });
      },
      onUnit: (result) => printUnit(context, result),
    });
    printEnd(context, prepared, results, options.json);
    await pendingNotifications.settle(env.clock);
    const signal = stops.received();
    if (
      signal !== undefined &&
      results.some(({ status }) => status === 'interrupted' || status === 'pending')
    )
      return signalExit(signal);
    return countedExit(results.filter(({ status }) => status === 'failed').length);
  } finally {
    if (lease !== undefined) await releaseLease(lease, env.log);
    await state.store.close();
  }
}

async function prepare(
  context: CliContext,
  config: string | undefined,
  options: BackfillValues,
): Promise<Prepared> {
  const byBookmark = [options.fromBookmark, options.toBookmark, options.bookmarkField].some(
    (text) => text !== undefined,
  );
  if (byBookmark && [options.from, options.to, options.window].some((text) => text !== undefined)) {
    throw usageError(
      'a range of bookmarks has no `--from`, `--to` and `--window`',
      'name bookmarks, or times',
    );
  }
  const loaded = await loadPlan(context, {
    config,
    completion: options,
    ...(byBookmark ? {} : { backfill: 'kept' }),
  });
  const subject = subjectOf(loaded.plan, options);
  const range = bookmarkRangeOf(options, subject.name);
  if (range === undefined) {
    checkScope(loaded.plan, subject);
    const plan = planUnits(spanOf(options, loaded.plan), subject.name);
    return preparedOf({ loaded, subject, range: plan }, (working) => windowWork(plan, working));
  }
  checkBookmarks(loaded.plan, subject.row, range);
  return preparedOf({ loaded, subject, range }, (working) =>
    bookmarkWork(range, context.world.clock.now(), working),
  );
}

interface Preparing {
  readonly loaded: Loaded;
  readonly subject: BackfillSubject;
  readonly range: Pick<BackfillPlan, 'hash' | 'descriptor'>;
}

function preparedOf(
  { loaded, subject, range }: Preparing,
  work: (working: Working) => readonly UnitWork[],
): Prepared {
  const { hash, descriptor } = range;
  const keys = new StateKeys(loaded.plan, subject, hash);
  const { document, parts } = loaded;
  // A preset that does not exist is no fault of each unit.
  withSink(document.tree, subject);
  return {
    loaded,
    subject,
    keys,
    hash,
    descriptor,
    units: work({ document, parts, cpus: availableParallelism(), subject, keys }),
  };
}

function spanOf(
  { from, to, window, timezone }: BackfillValues,
  plan: Plan,
): Parameters<typeof planUnits>[0] {
  const block = blockOf(plan, backfillBlock);
  if (from === undefined || to === undefined) {
    throw usageError(
      'a backfill needs `--from` and `--to`',
      'e.g. `--from 2026-01-01 --to 2026-02-01`; the end is not part of the range',
    );
  }
  return {
    from,
    to,
    window: window ?? block?.window,
    timezone: timezone ?? block?.timezone ?? 'UTC',
  };
}

/** Every window must read something else. */
function checkScope(plan: Plan, { row }: BackfillSubject): void {
  const about = plan.topology === undefined ? { ...plan, rows: [row] } : plan;
  const sweeping = unscopedCleanUps(about);
  if (sweeping.length > 0)
    throw new AppError('clean_up_unsafe', cleanUpFault(sweeping), { hint: CLEAN_UP_HINT });
  const unscoped = unscopedSources(about).map(({ id }) => `\`${id}\``);
  if (unscoped.length === 0) return;
  throw new AppError(
    'backfill_unscoped',
    `every window would read the same records: the source of ${unscoped.join(', ')} names no window`,
    {
      hint: SCOPING_HINT,
    },
  );
}

function checkBookmarks({ topology }: Plan, row: PlannedRow, { from }: BookmarkRange): void {
  const refuse = (message: string, hint: string): never => {
    throw new AppError('backfill_bookmarks', message, { hint });
  };
  if (topology !== undefined)
    refuse('a graph of nodes has no range of bookmarks', 'use `--from` and `--to`');
  if (row.partition !== undefined)
    refuse(
      `row \`${row.id}\` is cut into chunks, each with a bookmark of its own`,
      'set `partition: null`, or use `--from` and `--to`',
    );
  if (row.cleanUp !== undefined) {
    const message = `row \`${row.id}\` removes records that no longer exist at the source, and a range of bookmarks does not read all of it`;
    refuse(message, 'set `complete_for.on_missing: ignore` in the document of the backfill');
  }
  if (from === undefined) return;
  if (row.state === undefined)
    refuse(
      '`--from-bookmark` needs a state store, in which the source finds it',
      'add a `state` to the document',
    );
  if (factsOf(row).bookmarks === false)
    refuse(
      `the source \`${row.source.type}\` keeps no bookmarks, so it cannot begin at one`,
      'use `--from` and `--to`',
    );
}

function warn(
  { terminal }: CliContext,
  { loaded, subject, units }: Prepared,
  { forgets }: BackfillState,
): void {
  if (forgets !== undefined)
    terminal.warn(
      `what is done is not remembered, so a backfill that is stopped begins again: ${forgets}`,
    );
  if (units.length > MANY_UNITS)
    terminal.warn(`the range has ${count(units.length, 'unit')}; a larger window makes fewer`);
  const { sink } = subject.row;
  const windowed = findTokens(sink.config).length > 0;
  const { writeMode } = factsOf(subject.row);
  if (
    loaded.plan.topology !== undefined ||
    subject.into !== undefined ||
    windowed ||
    units.length < 2
  )
    return;
  if (writeMode === 'append') {
    terminal.warn(
      `\`${sink.type}\` only adds records: a unit that is run again adds its records again, and a sink that replaces its file keeps only those of the last unit`,
    );
  } else if (writeMode === 'overwrite') {
    terminal.warn(
      `\`${sink.type}\` replaces everything: only the records of the last unit stay, unless its \`config\` names the window`,
    );
  }
}

async function printUnits(
  { terminal }: CliContext,
  prepared: Prepared,
  { store }: BackfillState,
  { json, restart }: BackfillValues,
): Promise<number> {
  const { hash, descriptor, keys, units } = prepared;
  const marker = await Marker.open({ store, key: keys.marker, descriptor });
  const listed = units.map(({ id, start, end }) => {
    const status = restart ? undefined : marker.statusOf(id);
    return {
      unit: id,
      start,
      end,
      status: isFailed(status)
        ? 'failed'
        : status === 'running'
          ? 'interrupted'
          : (status ?? 'pending'),
    };
  });
  if (json) {
    terminal.json({
      backfill: hash,
      descriptor,
      dry_run: true,
      planned: units.length,
      units: listed,
    });
    return 0;
  }
  const cells = listed.map(({ unit, start, end, status }) => [
    unit,
    start ?? '',
    end ?? '',
    status,
  ]);
  for (const line of table(['window', 'start', 'end', 'status'], cells)) terminal.print(line);
  const left = listed.filter(({ status }) => status !== 'done').length;
  terminal.note(
    `${left} of ${count(units.length, 'window')} still to run; nothing was read or written`,
  );
  return 0;
}

function printUnit({ terminal }: CliContext, { unit, status, error, ...result }: UnitResult): void {
  const style = {
    done: 'green',
    failed: 'red',
    interrupted: 'yellow',
    skipped: 'dim',
    pending: 'dim',
  } as const;
  const span = result.start === null ? '' : `  ${result.start} to ${result.end}`;
  const end = `${terminal.paint(style[status], status)}  ${count(result.records_written, 'record')} in ${seconds(result.duration_ms)}`;
  terminal.note(
    `${terminal.paint('bold', unit)}${span}  ${end}${error === undefined ? '' : `: ${error}`}`,
  );
}

function printEnd(
  { terminal }: CliContext,
  { loaded, hash, descriptor }: Prepared,
  results: readonly UnitResult[],
  json: boolean,
): void {
  const number = (...statuses: readonly UnitResult['status'][]): number =>
    results.filter(({ status }) => statuses.includes(status)).length;
  const [done, skipped, failed, left] = [
    number('done'),
    number('skipped'),
    number('failed'),
    number('interrupted', 'pending'),
  ];
  const written = results.reduce((sum, result) => sum + result.records_written, 0);
  if (json) {
    terminal.json({
      backfill: hash,
      descriptor,
      planned: results.length,
      done,
      skipped,
      failed,
      pending: left,
      records_written: written,
      units: results,
    });
    return;
  }
  const before = skipped === 0 ? '' : ` (${skipped} of them earlier)`;
  terminal.note(
    `${terminal.paint('bold', loaded.plan.name)} backfill: ${done + skipped} of ${count(results.length, 'window')} done${before}, ${count(written, 'record')} written`,
  );
  if (failed > 0)
    terminal.note(`${terminal.paint('red', 'error:')} ${count(failed, 'window')} failed`);
  if (failed + left > 0)
    terminal.note(
      `${terminal.paint('cyan', 'hint:')} \`--resume\` runs the ${count(failed + left, 'window')} that ${failed + left === 1 ? 'is' : 'are'} left`,
    );
}
