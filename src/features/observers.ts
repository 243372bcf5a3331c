/** The observers of a run, as its document declares them. */
import { observabilityBlock } from '../blocks/observability/index.ts';
import { blockOf } from '../blocks/define-block.ts';
import type { RunObserver } from '../engine/observe/observer.ts';
import type { Env } from '../lib/env.ts';
import { teeMetrics } from '../lib/metrics/metrics.ts';
import { Outages } from '../lib/outages.ts';
import type { Plan } from '../plan/plan.ts';
import type { Movement } from '../wire/catalog.ts';
import type { OutputNews } from '../wire/outcome.ts';
import { catalogObserver, movementObserver } from './catalog/index.ts';
import { lineageObserver } from './lineage/index.ts';
import { OpenedFiles } from './local-outputs/opened-files.ts';
import type { Notifier } from './notifications/index.ts';

/** Observers that the document does not name. */
export interface Listeners {
  /**
   * Absent in the workers of a server: the server itself sends notifications of their runs, because
   * rules can depend on earlier runs.
   */
  readonly notifier?: Notifier;
  /** Updates the catalog of the server, which replaces the one that the document names. */
  readonly onMoved?: (movements: readonly Movement[]) => void;
  /** Updates the server's ledger of files. */
  readonly onOpened?: (news: OutputNews) => void;
  /** Shared by the runs of one process; by default each run has its own. */
  readonly outages?: Outages;
}

/**
 * The environment and the observers for `execute`, as the blocks of the plan ask for.
 */
export async function observed(plan: Plan, env: Env, listeners: Listeners = {}): Promise<Observed> {
  const { notifier, onMoved, onOpened, outages = new Outages(env.clock) } = listeners;
  const catalog =
    onMoved === undefined ? catalogObserver(plan, env) : movementObserver(plan, env, onMoved);
  const invited = await Promise.all([lineageObserver(plan, env, outages), catalog]);
  const opened = onOpened === undefined ? undefined : new OpenedFiles(env.clock, onOpened);
  const observers = [...invited, opened, notifier?.observerOf(plan)].filter(
    (observer) => observer !== undefined,
  );
  const otel = blockOf(plan, observabilityBlock)?.otel;
  if (otel === undefined) return { env, observers };
  const { exportRun } = await import('./telemetry/telemetry.ts');
  const exported = await exportRun(otel, env, outages);
  return {
    env: { ...env, metrics: teeMetrics(env.metrics, ...exported.map(({ metrics }) => metrics)) },
    observers: [...observers, ...exported.map(({ observer }) => observer)],
  };
}

export interface Observed {
  readonly env: Env;
  readonly observers: readonly RunObserver[];
}
