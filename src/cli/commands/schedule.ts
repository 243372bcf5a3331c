import { scheduleBlock } from '../../blocks/schedule/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { availableParallelism } from 'node:os';
import { threadsToSpare } from '../../engine/threads/budget.ts';
import { AppError } from '../../lib/errors.ts';
import { Outages } from '../../lib/outages.ts';
import type { Credentials } from '../../kit/context.ts';
import type { Env } from '../../lib/env.ts';
import type { PendingNotifications } from '../../engine/observe/pending-notifications.ts';
import type { Job } from '../../features/schedule/job.ts';
import type { CliContext } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { documentEnv } from '../documents/document-env.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT, signalExit } from '../framework/exit.ts';
import type { Loaded } from '../documents/load-plan.ts';
import { switchOption } from '../framework/option.ts';
import { quieterLog } from '../framework/quieter-log.ts';
import { summarizeRun } from '../render/run-report.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';
import { listenForStop, type Stops } from '../framework/signals.ts';

export const scheduleCommand = defineCommand({
  name: 'schedule',
  summary: 'Run a document whenever its `schedule` says so.',
  description:
    'Runs the document at every time that its `schedule.cron` names, until it is stopped; `${now.*}` is that time, in the time zone of the schedule. ' +
    'Each run that starts and ends is one line of the log; `--log-level debug` shows the details of runs.\n\n' +
    'SIGHUP reads the document again for the next runs; when it is not valid the old one stays in use. ' +
    'After the first Ctrl-C no further run starts, and the current one has `shutdown_grace_secs` to finish; a second one ends at once. ' +
    'The exit code is 1 when failures or `overlap_policy: forbid` end it.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    once: switchOption({ description: 'Run once, now, and end; the cron expression is ignored.' }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
  },
  examples: [
    { command: 'headgate schedule orders.yaml', description: 'In a container, or under systemd' },
    { command: 'headgate schedule orders.yaml --once', description: 'One run, now' },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const load = () => loadPlan(context, { config, selection: options, completion: options });
    const loaded = await load();
    // Where metrics are read and how much is logged stays as it is when the document is read again.
    await using surroundings = await documentEnv(context, loaded.plan, false);
    const { env } = surroundings;
    const { jobOf, pendingNotifications } = await jobMaker(env);
    const job = jobOf(loaded);
    const grace = job.spec.shutdown_grace_secs;
    using stops = listenForStop(context.world, 'shutdown', (signal) => {
      const then = options.once
        ? 'stopping at the next page'
        : `starting no further run; one under way has ${grace} s to finish`;
      context.terminal.note(`${signal}: ${then}; once more ends at once`);
    });
    // Awaited: signals are heard until the end.
    const code = await (options.once
      ? runOnce(context, job, stops)
      : runOnSchedule(context, job, { env, load: async () => jobOf(await load()), stops }));
    await pendingNotifications.settle(env.clock);
    return code;
  },
});

interface Jobs {
  /** Logins stay as long as the document declares the same ones. */
  readonly jobOf: (loaded: Loaded) => Job;
  readonly pendingNotifications: PendingNotifications;
}

async function jobMaker(loud: Env): Promise<Jobs> {
  const { createJob } = await import('../../features/schedule/job.ts');
  const { execute } = await import('../../engine/execute.ts');
  const { openLogins } = await import('../../engine/logins.ts');
  const { observed } = await import('../../features/observers.ts');
  const { createNotifier } = await import('../../features/notifications/index.ts');
  const { PendingNotifications } = await import('../../engine/observe/pending-notifications.ts');
  const { notifiedPlanOf } = await import('../../runs/planning/plan-summary.ts');
  const { canonicalJson } = await import('../../lib/text/json.ts');
  const env = { ...loud, log: quieterLog(loud.log) };
  // Kept between runs: a warning is not repeated for every run.
  const notifier = createNotifier(env);
  const outages = new Outages(env.clock);
  const { signal } = new AbortController();
  let logins: { readonly declared: string; readonly credentials: Credentials } | undefined;
  // A receiver that does not answer must not make runs overlap.
  const pendingNotifications = new PendingNotifications();
  const jobOf = ({ plan, parts }: Loaded): Job => {
    const spec = blockOf(plan, scheduleBlock);
    if (spec === undefined) {
      const hint =
        'add one, e.g. `schedule: {cron: "0 3 * * *"}`, or run the document once with `headgate run`';
      throw new AppError('no_schedule', 'the document has no `schedule`', { hint });
    }
    const declared = canonicalJson(plan.auth);
    if (logins?.declared !== declared)
      logins = { declared, credentials: openLogins({ plan, parts, env }, signal) };
    const { credentials } = logins;
    return createJob({
      plan,
      spec,
      giveUp: (reason) => notifier.schedulerStuck(notifiedPlanOf(plan), reason),
      execute: async (options) => {
        const watched = await observed(plan, env, { notifier, outages });
        const threads = threadsToSpare(availableParallelism());
        return execute({
          ...options,
          ...watched,
          plan,
          parts,
          runId: env.ids.next(),
          credentials,
          threads,
          onNotifying: pendingNotifications.add,
        });
      },
    });
  };
  return { jobOf, pendingNotifications };
}

async function runOnce({ terminal, world }: CliContext, job: Job, stops: Stops): Promise<number> {
  const { ScheduledRun } = await import('../../features/schedule/scheduled-run.ts');
  const run = new ScheduledRun(job, world.clock.now(), world.clock);
  stops.signal.addEventListener('abort', () => void run.drain(0), { once: true });
  const { outcome, failure } = await run.ended;
  terminal.clearProgress();
  if (outcome !== undefined) summarizeRun(terminal, outcome, { dryRun: false });
  if (failure !== undefined && outcome?.error == null)
    terminal.note(`${terminal.paint('red', 'error:')} ${failure}`);
  const signal = stops.received();
  if (signal !== undefined && outcome?.status === 'cancelled') return signalExit(signal);
  return failure === undefined ? EXIT.ok : EXIT.failed;
}

interface Scheduling {
  readonly env: Env;
  readonly load: () => Promise<Job>;
  readonly stops: Stops;
}

async function runOnSchedule(
  { terminal, world }: CliContext,
  job: Job,
  { env, load, stops }: Scheduling,
): Promise<number> {
  const { Scheduler } = await import('../../features/schedule/scheduler.ts');
  const scheduler = new Scheduler({ env, job, signal: stops.signal });
  const deafen = world.onHangup(() => void scheduler.reload(load));
  try {
    const { ok, reason } = await scheduler.run();
    terminal.note(ok ? `ended: ${reason}` : `${terminal.paint('red', 'error:')} ${reason}`);
    return ok ? EXIT.ok : EXIT.failed;
  } finally {
    deafen();
  }
}
