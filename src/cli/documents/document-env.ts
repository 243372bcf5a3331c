/**
 * The `Env` of a command that runs a document: the document may set the log level and where metrics
 * are served.
 */
import { observabilityBlock } from '../../blocks/observability/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { Env } from '../../lib/env.ts';
import type { Plan } from '../../plan/plan.ts';
import type { CliContext } from '../framework/context.ts';

export interface DocumentEnv extends AsyncDisposable {
  readonly env: Env;
}

/** Listens for scrapes until it is disposed of. Throws `AppError` when that is not possible. */
export async function documentEnv(
  context: CliContext,
  plan: Plan,
  quiet: boolean,
): Promise<DocumentEnv> {
  const observability = blockOf(plan, observabilityBlock);
  const level = context.isLevelChosen ? undefined : observability?.tracing?.level;
  const env = quiet
    ? context.envAt('warn')
    : level === undefined
      ? context.env
      : context.envAt(level);
  const { prometheus } = observability ?? {};
  if (prometheus === undefined) return { env, [Symbol.asyncDispose]: () => Promise.resolve() };
  const { listenForScrapes } = await import('../../features/telemetry/listen.ts');
  const listener = await listenForScrapes(prometheus);
  env.log.info('metrics are served', {
    listen: prometheus.listen,
    port: listener.port,
    path: '/metrics',
  });
  return {
    env: { ...env, metrics: listener.metrics },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
