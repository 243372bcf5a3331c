/** What is asked of each kind of part before a run. Nothing is written that is not removed again. */
import { slaBlock } from '../../blocks/sla/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { PartContext } from '../../kit/context.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import type { StateStore } from '../../kit/state-store.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import type {
  PlannedRow,
  PlannedSink,
  PlannedSource,
  PlannedState,
  PlannedTransform,
} from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { historyKey, historyOf, isStale, stalenessText } from '../after-run/sla.ts';
import { firstIteration, stateKeyOf } from '../expand/iteration.ts';
import { compileIssues } from './compile-check.ts';

/** A transform that can be compiled has nothing else to check before the first record. */
export async function probeTransform(
  part: PlannedTransform,
  { env }: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const issues = await compileIssues([part], { env, tokens });
  return issues.map(({ message, hint }) => ({
    name: 'compile',
    status: 'fail',
    reason: message,
    ...(hint === undefined ? {} : { hint }),
  }));
}

export async function probeSource(
  part: PlannedSource,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const { definition } = part;
  const config = resolvePart(shrunk(part), tokens);
  const sourceContext = { ...context, pageBytes: 1024 * 1024 };
  if (definition.probe !== undefined) return definition.probe(config, sourceContext);
  const source = await definition.open(config, sourceContext);
  try {
    const request = { lane: RECORDS_LANE, limit: 1, rejects: true };
    for await (const _page of source.pages(request)) break;
    return [{ name: 'read', status: 'pass' }];
  } catch (error) {
    const hint = error instanceof AppError && error.hint !== undefined ? { hint: error.hint } : {};
    return [{ name: 'read', status: 'fail', reason: messageOf(error), ...hint }];
  } finally {
    await source.close();
  }
}

/** One record is enough to know that reading works. */
function shrunk(part: PlannedSource): PlannedSource {
  if (!('batch_size' in part.config)) return part;
  return { ...part, config: { ...part.config, batch_size: 1 }, deferred: true, parsed: undefined };
}

export async function probeSink(
  part: PlannedSink,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const { definition } = part;
  if (definition.probe === undefined)
    return [
      { name: 'check', status: 'skip', reason: 'this sink has no check that would not write' },
    ];
  return definition.probe(resolvePart(part, tokens), {
    ...context,
    runId: context.invocationId,
    role: 'main',
  });
}

export async function probeState(
  part: PlannedState,
  context: PartContext,
  { tokens, bookmark }: { readonly tokens: RuntimeTokens; readonly bookmark: string },
): Promise<ProbeFinding[]> {
  const { definition } = part;
  const config = resolvePart(part, tokens);
  if (definition.probe !== undefined) return definition.probe(config, context);
  const store = await definition.open(config, context);
  try {
    // Rows that share a store are checked at the same time.
    const key = `headgate::doctor::${context.invocationId}`;
    await store.put(key, { at: context.env.clock.now().toISOString() });
    const back = await store.get(key);
    await store.delete(key);
    if (back === undefined)
      return [
        { name: 'sentinel', status: 'fail', reason: 'a value that was put could not be read back' },
      ];
    return [{ name: 'sentinel', status: 'pass' }, ...(await unreadable(store, bookmark))];
  } catch (error) {
    return [failed('sentinel', error)];
  } finally {
    await store.close();
  }
}

/**
 * What an earlier run left may be out of reach for this document: written with another key, or
 * damaged.
 */
async function unreadable(store: StateStore, bookmark: string): Promise<ProbeFinding[]> {
  try {
    await store.get(bookmark);
    return [];
  } catch (error) {
    return [failed('bookmark', error)];
  }
}

function failed(name: string, error: unknown): ProbeFinding {
  const hint = error instanceof AppError && error.hint !== undefined ? { hint: error.hint } : {};
  return { name, status: 'fail', reason: messageOf(error), ...hint };
}

/** Looks at the history of the row and writes nothing. */
export async function probeStaleness(
  row: PlannedRow,
  part: PlannedState,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<ProbeFinding[]> {
  const store = await part.definition.open(resolvePart(part, tokens), context);
  try {
    const value = await store.get(historyKey(stateKeyOf(row, firstIteration(row))));
    const history = value === undefined ? undefined : historyOf(value);
    const sla = blockOf(row, slaBlock);
    if (sla === undefined || history === undefined)
      return [{ name: 'staleness', status: 'skip', reason: 'no successful run is known yet' }];
    const age = Math.round(context.env.clock.now().getTime() / 1000) - history.last_success_unix;
    if (!isStale(age, sla)) return [{ name: 'staleness', status: 'pass' }];
    return [{ name: 'staleness', status: 'fail', reason: stalenessText(age, sla) }];
  } finally {
    await store.close();
  }
}
