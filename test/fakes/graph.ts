/**
 * Graphs for tests: a document of nodes over fakes and the transforms of the product, planned and
 * run as the product does.
 */
import { TRANSFORMS } from '../../src/transforms/index.ts';
import { execute } from '../../src/engine/execute.ts';
import type { ExecuteOptions } from '../../src/engine/engine.ts';
import { createParts, type Parts } from '../../src/kit/parts.ts';
import type { SinkDefinition } from '../../src/kit/sink.ts';
import type { SourceDefinition } from '../../src/kit/source.ts';
import type { StateStoreDefinition } from '../../src/kit/state-store.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import type { Plan } from '../../src/plan/plan.ts';
import type { RunOutcome } from '../../src/wire/outcome.ts';
import { load } from './documents.ts';
import { testEnv } from './env.ts';

export interface GraphParts {
  readonly sources: Readonly<Record<string, SourceDefinition>>;
  readonly sinks: Readonly<Record<string, SinkDefinition>>;
  readonly state?: StateStoreDefinition;
}

/** Parts under the names that the document of the test gives them. */
export function partsOf({ sources, sinks, state }: GraphParts): Parts {
  return createParts({
    sources: Object.entries(sources).map(([type, source]) => ({ ...source, type })),
    sinks: Object.entries(sinks).map(([type, sink]) => ({ ...sink, type })),
    transforms: TRANSFORMS,
    states: state === undefined ? [] : [state],
    credentials: [],
    secrets: [],
  });
}

export type Edge = readonly [from: string, to: string, as?: string];

export interface GraphDocument {
  readonly nodes: JsonObject;
  readonly edges: readonly Edge[];
  /** Further blocks of `pipeline`, and of the document. */
  readonly pipeline?: JsonObject;
  readonly top?: JsonObject;
}

export function graphPlan(
  { nodes, edges, pipeline = {}, top = {} }: GraphDocument,
  parts: Parts,
): Plan {
  const edgeList = edges.map(([from, to, as]): JsonValue =>
    as === undefined ? { from, to } : { from, to, as },
  );
  const text = JSON.stringify({
    version: 1,
    name: 'graph',
    ...top,
    pipeline: { nodes, edges: edgeList, ...pipeline },
  });
  return planDocument(load(text, { format: 'json' }), parts, { cpus: 4 });
}

export async function runGraph(
  document: GraphDocument,
  given: GraphParts,
  overrides: Partial<ExecuteOptions> = {},
): Promise<RunOutcome> {
  const parts = partsOf(given);
  const signal = new AbortController().signal;
  const clock = new Date('2026-01-31T00:00:00Z');
  return execute({
    plan: graphPlan(document, parts),
    parts,
    env: testEnv(),
    runId: 'run-1',
    clock,
    signal,
    ...overrides,
  });
}
