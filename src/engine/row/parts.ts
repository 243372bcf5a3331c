/** Opening single parts of a row or graph node: their context, config, and errors. */
import type { PartContext } from '../../kit/context.ts';
import type { Source } from '../../kit/source.ts';
import type { Env } from '../../lib/env.ts';
import type { Labels, MetricDefinition } from '../../lib/metrics/metrics.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { PlannedPart, PlannedRow, PlannedSource, PlannedTransform } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import { withinGracePeriod } from '../grace-period.ts';
import { compileTransforms } from '../stages/compile-transforms.ts';
import type { TransformChain } from '../stages/transform-chain.ts';
import type { InvocationRequest } from './request.ts';

/** How much one page may hold in encoded form; with one page ahead this bounds a row's memory. */
export const PAGE_BYTES = 4 * 1024 * 1024;

interface Opener extends Pick<
  InvocationRequest,
  'env' | 'plan' | 'invocationId' | 'kill' | 'credentials'
> {
  readonly row: Pick<PlannedRow, 'id'>;
}

export function partContext({
  env,
  plan,
  row,
  invocationId,
  kill,
  credentials,
}: Opener): PartContext {
  const log = env.log.at(`headgate::${row.id}`);
  return {
    env: { ...env, log },
    pipeline: plan.name,
    row: row.id,
    invocationId,
    signal: kill,
    credentials,
  };
}

/** The checked config: run-time tokens filled in, `concurrency` of the submission applied. */
export function resolve<D>(
  { concurrency, tokens }: Pick<InvocationRequest, 'tokens' | 'concurrency'>,
  part: PlannedPart<D>,
): unknown {
  const keys = (part.definition as { concurrencyKeys?: readonly string[] }).concurrencyKeys ?? [];
  if (concurrency === undefined || keys.length === 0) return resolvePart(part, tokens);
  const config: JsonObject = { ...part.config };
  for (const key of keys) config[key] = concurrency;
  return resolvePart({ ...part, config, deferred: true, parsed: undefined }, tokens);
}

export async function openPart<T extends { close(): Promise<void> }>(
  place: 'Sink' | 'State',
  { type }: Pick<PlannedPart<unknown>, 'type'>,
  open: () => Promise<T>,
  closers: AsyncDisposableStack,
): Promise<T> {
  try {
    const opened = await open();
    closers.defer(() => opened.close());
    return opened;
  } catch (error) {
    throw wrapConnectorError(place, type, error);
  }
}

/** Unlike other parts, a source that is blocked in a system call is abandoned, and never closes. */
export async function openSource(
  { type }: Pick<PlannedSource, 'type'>,
  open: () => Promise<Source>,
  { env }: { readonly env: Env },
  closers: AsyncDisposableStack,
): Promise<Source> {
  try {
    const source = await open();
    closers.defer(async () => void (await withinGracePeriod(source.close(), env.clock)));
    return source;
  } catch (error) {
    throw wrapConnectorError('Source', type, error);
  }
}

export async function openTransforms(
  transforms: readonly PlannedTransform[],
  options: Pick<InvocationRequest, 'env' | 'tokens' | 'concurrency'>,
  closers: AsyncDisposableStack,
): Promise<TransformChain> {
  const resolved = transforms.map((one) => ({ ...one, config: resolve(options, one) }));
  const chain = await compileTransforms(resolved, options.env);
  closers.defer(() => chain.close());
  return chain;
}

/** Counts a part as open until everything is closed. */
export function countOpen(
  metric: MetricDefinition,
  labels: Labels,
  { env }: { readonly env: Env },
  closers: AsyncDisposableStack,
): void {
  env.metrics.inc(metric, labels);
  closers.defer(() => env.metrics.inc(metric, labels, -1));
}
