/**
 * Notifications of a process that executes several runs: a command, the scheduler, a server. Its
 * code is loaded when the first notification is sent.
 */
import { CHANNELS } from '../../channels/index.ts';
import type { ChannelDefinition } from '../../kit/channel.ts';
import { isWholeRun, type ObservedRun, type RunObserver } from '../../engine/observe/observer.ts';
import type { PlannedRule } from '../../blocks/notifications/plan.ts';
import { StopReason } from '../../lib/errors.ts';
import type { Plan } from '../../plan/plan.ts';
import { notifiedPlanOf } from '../../runs/planning/plan-summary.ts';
import type { RunListener } from '../../runs/service/run-listener.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import type { NotifiedPlan } from '../../wire/plan-summary.ts';
import type { EndedRun } from './ended-run.ts';
import type { Dispatcher, DispatcherEnv } from './dispatcher.ts';

export interface Notifier extends RunListener {
  /**
   * Sends notifications of a run in this process, which waits for them at its end. Undefined when
   * the document has no rules.
   */
  observerOf(plan: Plan): RunObserver | undefined;
  settle(signal: AbortSignal): Promise<void>;
  /** The scheduler gives up on a document; `message` says why. */
  schedulerStuck(plan: NotifiedPlan | undefined, message: string): Promise<void>;
}

export function createNotifier(
  env: DispatcherEnv,
  channels: readonly ChannelDefinition[] = CHANNELS,
): Notifier {
  let loaded: Promise<Dispatcher> | undefined;
  const underway = new Set<Promise<void>>();
  const dispatcher = (): Promise<Dispatcher> => (loaded ??= load(env, channels));

  const notifyEnd = async (run: EndedRun): Promise<void> => {
    const rules = rulesOf(run.plan);
    if (rules.length === 0 || run.status === 'cancelled') return;
    const { notificationsOf } = await import('./run-events.ts');
    await (
      await dispatcher()
    ).dispatchAll({ pipeline: run.plan.name, rules, ...notificationsOf(run) });
  };

  /** In the background. */
  const begin = (run: EndedRun): void => {
    const sending = notifyEnd(run)
      .catch((error: unknown) =>
        env.log
          .at('headgate::notifications')
          .error('notifications of a run could not be sent', { error: String(error) }),
      )
      .finally(() => underway.delete(sending));
    underway.add(sending);
  };

  return {
    name: 'notifications',
    observerOf: (plan) => {
      const notified = notifiedPlanOf(plan);
      return notified === undefined ? undefined : observer(notified, notifyEnd);
    },
    follow: ({ run_id: runId }) => {
      let plan: NotifiedPlan | undefined;
      return (event) => {
        if (event.kind === 'planned') plan = event.notified;
        if (event.kind !== 'ended' || plan === undefined) return;
        const { status, error, started_at, finished_at, outcome } = event.end;
        const run = { runId, plan, status, error };
        begin({
          ...run,
          startedAt: started_at,
          finishedAt: finished_at,
          outcome: outcome ?? undefined,
        });
      };
    },
    settle: async (signal) => {
      if (underway.size === 0 || signal.aborted) return;
      const aborted = new Promise<void>((resolve) =>
        signal.addEventListener('abort', () => resolve(), { once: true }),
      );
      await Promise.race([Promise.all(underway), aborted]);
    },
    schedulerStuck: async (plan, message) => {
      const rules = plan === undefined ? [] : rulesOf(plan);
      if (plan === undefined || rules.length === 0) return;
      const { NO_INVOCATION, notificationEvent } = await import('./event.ts');
      const event = notificationEvent(
        'scheduler_stuck',
        { pipeline: plan.name, row: '', ...NO_INVOCATION },
        message,
        {},
      );
      await (
        await dispatcher()
      ).dispatchAll({ pipeline: plan.name, rules, events: [event], recovered: [] });
    },
  };
}

/** Rules were checked when their document was read, in a process of this build. */
function rulesOf({ rules }: NotifiedPlan): readonly PlannedRule[] {
  return rules as unknown as readonly PlannedRule[];
}

async function load(
  env: DispatcherEnv,
  channels: readonly ChannelDefinition[],
): Promise<Dispatcher> {
  const { Dispatcher } = await import('./dispatcher.ts');
  return new Dispatcher(env, channels);
}

/** Only complete runs are reported: no dry or limited ones. */
function observer(plan: NotifiedPlan, notifyEnd: (run: EndedRun) => Promise<void>): RunObserver {
  let whole: ObservedRun | undefined;
  return {
    name: 'notifications',
    runStarted: (run) => {
      if (isWholeRun(run)) whole = run;
    },
    runEnded: async (outcome) => {
      if (whole === undefined) return;
      const { runId, signal } = whole;
      const { started_at: startedAt, finished_at: finishedAt } = outcome;
      await notifyEnd({ runId, plan, ...endOf(outcome, signal), startedAt, finishedAt, outcome });
    },
  };
}

/** A run that is stopped because it takes too long has failed. */
function endOf(
  { status, error }: RunOutcome,
  { reason }: AbortSignal,
): Pick<EndedRun, 'status' | 'error'> {
  if (status === 'cancelled' && reason instanceof StopReason && reason.why === 'timeout')
    return { status: 'failed', error: reason.message };
  return { status, error: error?.message ?? null };
}
