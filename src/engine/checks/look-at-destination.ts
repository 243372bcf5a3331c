/** What can be told of the destination of a row before a run: its probes, and its columns. */
import type { PartContext } from '../../kit/context.ts';
import type { Probe } from '../../kit/probe.ts';
import type { DestinationColumn } from '../../kit/sink.ts';
import type { PlannedRow, PlannedSink } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { probeSink } from './part-probes.ts';
import { runCheck, type CheckOptions } from './run-check.ts';
import { unknownBefore } from './unknown-before.ts';

/** A destination with columns. */
export interface KnownDestination {
  readonly columns: readonly DestinationColumn[];
  /** Names that differ only in the case of ASCII letters mean the same column. */
  readonly ignoresCase: boolean;
  /** Whether the sink can change its columns. */
  readonly canEvolve: boolean;
}

export interface SeenDestination {
  readonly probes: readonly Probe[];
  readonly columns: SeenColumns;
}

/**
 * `schemaless`: the sink has no columns with this config. `absent`: nothing is there yet.
 * `unknown`: nothing can be said before a run, or reading them failed.
 */
export type SeenColumns =
  | { readonly are: 'known'; readonly destination: KnownDestination }
  | { readonly are: 'schemaless' | 'absent' }
  | { readonly are: 'unknown'; readonly error?: string };

/** Whether the sink of a row has columns; nothing is contacted. */
export function columnsWithoutLook({ sink }: Pick<PlannedRow, 'sink'>): SeenColumns {
  const config = sink.parsed ?? sink.judged;
  const isSchemaless =
    config !== undefined && sink.definition.capabilities(config).schema === 'none';
  return { are: isSchemaless ? 'schemaless' : 'unknown' };
}

/** Nothing is made or changed. Never throws: what goes wrong is told in the result. */
export async function lookAtDestination(
  options: CheckOptions,
  row: PlannedRow,
): Promise<SeenDestination> {
  const reason = unknownBefore(row);
  if (reason !== undefined)
    return {
      probes: [{ name: 'check', status: 'skip', reason, elapsed_ms: 0 }],
      columns: columnsWithoutLook(row),
    };
  const probes = await runCheck(
    options,
    (context, tokens) => probeSink(row.sink, context, tokens),
    row,
  );
  let columns: SeenColumns | undefined;
  const [fault] = await runCheck(
    options,
    async (context, tokens) => {
      columns = await readColumns(row.sink, context, tokens);
      return [];
    },
    row,
  );
  if (fault === undefined && columns !== undefined) return { probes, columns };
  const error = `the columns of the destination cannot be read: ${fault?.reason ?? ''}`;
  return { probes, columns: { are: 'unknown', error } };
}

async function readColumns(
  part: PlannedSink,
  context: PartContext,
  tokens: RuntimeTokens,
): Promise<SeenColumns> {
  const config = resolvePart(part, tokens);
  const capabilities = part.definition.capabilities(config);
  if (capabilities.schema === 'none') return { are: 'schemaless' };
  const sink = await part.definition.open(config, {
    ...context,
    runId: context.invocationId,
    role: 'main',
    onlyReads: true,
  });
  try {
    const columns = await sink.schema?.current();
    if (columns === undefined) return { are: 'absent' };
    return {
      are: 'known',
      destination: {
        columns,
        ignoresCase: sink.schema?.ignoresCase === true,
        canEvolve: capabilities.schema === 'evolve',
      },
    };
  } finally {
    await sink.close();
  }
}
