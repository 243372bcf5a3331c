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
   * That of the process; absent in the workers of a server, which tells of their runs itself,
   * because it remembers more than one of them.
   */
  readonly notifier?: Notifier;
  /** Keeps the catalog of a server, which takes the place of the one a document names. */
  readonly onMoved?: (movements: readonly Movement[]) => void;
  /** Keeps the ledger of files of a server. */
  readonly onOpened?: (news: OutputNews) => void;
  /** That of a process which executes one run after the other; otherwise a run knows its own. */
  readonly outages?: Outages;
}

/**
 * What `execute` is to be given by whoever runs a plan: all it does and measures is also told to
 * those the plan names.
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
