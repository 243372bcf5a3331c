/** `headgate replicate`, from the options to the exit code. */
import { availableParallelism } from 'node:os';
import { PendingNotifications } from '../../engine/observe/pending-notifications.ts';
import { threadsToSpare } from '../../engine/threads/budget.ts';
import { createNotifier } from '../../features/notifications/index.ts';
import { observed } from '../../features/observers.ts';
import type { HalfNews, ReplicationResult } from '../../features/replication/replicate.ts';
import { replicateDocument } from '../../features/replication/replicate-document.ts';
import { StopReason } from '../../lib/errors.ts';
import { Outages } from '../../lib/outages.ts';
import { count } from '../../lib/text/count.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { documentEnv } from '../documents/document-env.ts';
import type { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { loadPlan } from '../documents/load-plan.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, signalExit } from '../framework/exit.ts';
import type { Values } from '../framework/option.ts';
import { quieterLog } from '../framework/quieter-log.ts';
import { listenForStop, type Stops } from '../framework/signals.ts';
import { runDocument, summarizeRun } from '../render/run-report.ts';

export interface ReplicateValues extends Values<typeof DOCUMENT_OPTIONS> {
  readonly once: boolean;
  readonly restart: boolean;
  readonly json: boolean;
}

export async function replicate(
  context: CliContext,
  config: string | undefined,
  options: ReplicateValues,
): Promise<number> {
  const { terminal, world } = context;
  const loaded = await loadPlan(context, { config, completion: options });
  await using surroundings = await documentEnv(context, loaded.plan, false);
  const env = { ...surroundings.env, log: quieterLog(surroundings.env.log) };
  using stops = listenForStop(world, 'cancel', (signal) =>
    terminal.note(`${signal}: stopping at the next page; the same command goes on there`),
  );
  const [outages, notifications] = [new Outages(env.clock), new PendingNotifications()];
  const notifier = createNotifier(env);
  const cpus = availableParallelism();
  try {
    const result = await replicateDocument({
      ...loaded,
      env,
      cpus,
      signal: stops.signal,
      once: options.once,
      restart: options.restart,
      threads: threadsToSpare(cpus),
      onNotifying: notifications.add,
      observe: (plan) => observed(plan, env, { notifier, outages }),
      onHalf: (news) => printHalf(context, news),
    });
    if (options.json) terminal.json(resultDocument(loaded.plan.name, result));
    else printEnd(context, loaded.plan.name, result);
    return exitOf(result, stops);
  } catch (error) {
    // Before the first half there is nothing to tell of.
    const signal = stops.received();
    if (!(error instanceof StopReason) || signal === undefined) throw error;
    return signalExit(signal);
  } finally {
    await notifications.settle(env.clock);
  }
}

function exitOf({ status }: ReplicationResult, stops: Stops): number {
  const signal = stops.received();
  if (status === 'failed') return EXIT.failed;
  return signal === undefined ? EXIT.ok : signalExit(signal);
}

function printHalf({ terminal }: CliContext, news: HalfNews): void {
  if (news.half === 'snapshot') {
    const how = news.resumed ? 'goes on; its changes begin at' : 'begins; its changes begin at';
    terminal.note(`${terminal.paint('bold', 'snapshot')} ${how} ${stringifyJson(news.anchor)}`);
  } else if (news.half === 'stream') {
    const { snapshot } = news;
    const before =
      snapshot === undefined
        ? 'the snapshot was taken before'
        : `${count(snapshot.records_written, 'record')} of the snapshot written`;
    terminal.note(`${terminal.paint('bold', 'stream')} begins; ${before}`);
  } else if (news.stream.records_written > 0 && news.stream.status === 'completed')
    terminal.note(
      `${terminal.paint('bold', 'stream')} wrote ${count(news.stream.records_written, 'record')}`,
    );
}

function printEnd(
  { terminal }: CliContext,
  pipeline: string,
  { status, phase, snapshot, stream, streamWritten }: ReplicationResult,
): void {
  const failed = [snapshot, stream].find((outcome) => outcome?.status === 'failed');
  if (failed !== undefined) summarizeRun(terminal, failed, { dryRun: false });
  const colour = { completed: 'green', failed: 'red', cancelled: 'yellow' } as const;
  const taken =
    snapshot === undefined
      ? 'the snapshot was taken before'
      : `${count(snapshot.records_written, 'record')} of the snapshot written`;
  const changes = phase === 'snapshot' ? '' : `, ${count(streamWritten, 'record')} of changes`;
  terminal.note(
    `${terminal.paint('bold', pipeline)} replication ${terminal.paint(colour[status], status)}: ${taken}${changes}`,
  );
}

function resultDocument(
  pipeline: string,
  { status, phase, anchor, snapshot, stream, streamRuns, streamWritten }: ReplicationResult,
): Record<string, unknown> {
  const told = (outcome: RunOutcome | undefined): unknown =>
    outcome === undefined ? null : runDocument(outcome, { dryRun: false });
  return {
    pipeline,
    status,
    phase,
    position: anchor,
    records_written: (snapshot?.records_written ?? 0) + streamWritten,
    snapshot: told(snapshot),
    stream: stream === undefined ? null : { runs: streamRuns, records_written: streamWritten },
    last_run: told(stream),
  };
}
