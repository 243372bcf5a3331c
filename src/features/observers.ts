/** Who is told what a run does, by what its document declares. */
import type { RunObserver } from '../engine/observe/observer.ts';
import type { Env } from '../lib/env.ts';
import { teeMetrics } from '../lib/metrics.ts';
import type { Plan } from '../plan/plan.ts';
import type { Movement } from '../wire/catalog.ts';
import type { OutputNews } from '../wire/outcome.ts';
import { catalogObserver, movementObserver } from './catalog/index.ts';
import { lineageObserver } from './lineage/index.ts';
import { OpenedFiles } from './local-outputs/opened-files.ts';
import type { Notifier } from './notifications/index.ts';

/** Gives the observer of a feature, or none when the document does not ask for it; loads the feature only then. */
type Invite = (plan: Plan, env: Env) => Promise<RunObserver | undefined>;

const FEATURES: readonly Invite[] = [lineageObserver];

/** Who is told besides those the document names. */
export interface Listeners {
  /** That of the process; absent in the workers of a server, which tells of their runs itself, because it remembers more than one of them. */
  readonly notifier?: Notifier;
  /** Keeps the catalog of a server, which takes the place of the one a document names. */
  readonly onMoved?: (movements: readonly Movement[]) => void;
  /** Keeps the ledger of files of a server. */
  readonly onOpened?: (news: OutputNews) => void;
}

/**
 * What `execute` is to be given by whoever runs a plan: all it does and measures is also told to those the plan names.
 */
export async function observed(plan: Plan, env: Env, { notifier, onMoved, onOpened }: Listeners = {}): Promise<Observed> {
  const catalog = onMoved === undefined ? catalogObserver(plan, env) : movementObserver(plan, env, onMoved);
  const invited = await Promise.all([...FEATURES.map((invite) => invite(plan, env)), catalog]);
  const opened = onOpened === undefined ? undefined : new OpenedFiles(env.clock, onOpened);
  const observers = [...invited, opened, notifier?.observerOf(plan)].filter((observer) => observer !== undefined);
  const otel = plan.observability?.otel;
  if (otel === undefined) return { env, observers };
  const { exportRun } = await import('./telemetry/telemetry.ts');
  const listeners = await exportRun(otel, env);
  return {
    env: { ...env, metrics: teeMetrics(env.metrics, ...listeners.map(({ metrics }) => metrics)) },
    observers: [...observers, ...listeners.map(({ observer }) => observer)],
  };
}

export interface Observed {
  readonly env: Env;
  readonly observers: readonly RunObserver[];
}
