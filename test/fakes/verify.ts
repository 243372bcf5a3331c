/**
 * For tests of comparisons: two tables, a document that moves one into the other, and the same
 * question asked naively.
 */
import { documentOfTree } from '../../src/document/load.ts';
import { rowToVerify, verifyRow } from '../../src/engine/verify/verify-row.ts';
import type { Env } from '../../src/lib/env.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { parts } from '../../src/parts.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import type { Plan } from '../../src/plan/plan.ts';
import type { Difference, VerifyReport, VerifyTask } from '../../src/wire/verify.ts';
import { testEnv } from './env.ts';

export function planOfTree(tree: JsonObject): Plan {
  return planDocument(documentOfTree({ version: 1, ...tree }, { name: 'test' }), parts, {
    cpus: 2,
  });
}

export async function verifyTree(
  tree: JsonObject,
  task: Partial<VerifyTask> = {},
  env: Env = testEnv(),
  /** Called when the source is about to be read. */
  { onRead = async () => {} }: { readonly onRead?: () => Promise<void> } = {},
): Promise<VerifyReport> {
  const plan = planOfTree(tree);
  const signal = new AbortController().signal;
  const asked = {
    row: undefined,
    repair: false,
    allowDelete: false,
    dryRun: false,
    maxDifferences: undefined,
    ...task,
  };
  const row = rowToVerify(plan, asked.row);
  const { definition } = row.source;
  const open: typeof definition.open = async (config, context) => {
    await onRead();
    return definition.open(config, context);
  };
  return verifyRow({
    plan,
    row: { ...row, source: { ...row.source, definition: { ...definition, open } } },
    parts,
    env,
    runId: 'run-1',
    clock: new Date('2026-01-31T00:00:00Z'),
    stop: signal,
    kill: signal,
    task: asked,
  });
}

/** Differences as texts in an order of their own, so that lists can be compared. */
export function told(differences: readonly Difference[]): string[] {
  return differences
    .map(
      ({ key, kind, columns = [], side = '', count = '' }) =>
        `${kind} ${JSON.stringify(key)} ${columns.join('+')}${side}${count}`,
    )
    .sort();
}

/**
 * What two lists of records differ in, found by looking at everything. Values are compared as JSON.
 */
export function naively(
  source: readonly JsonObject[],
  destination: readonly JsonObject[],
  key: readonly string[],
): Difference[] {
  const keyOf = (record: JsonObject): string =>
    JSON.stringify(key.map((name) => JSON.stringify(record[name] ?? null)));
  const [here, there] = [Map.groupBy(source, keyOf), Map.groupBy(destination, keyOf)];
  const named = (record: JsonObject | undefined): Record<string, JsonValue> =>
    Object.fromEntries(key.map((name) => [name, record?.[name] ?? null]));
  return [...new Set([...here.keys(), ...there.keys()])].flatMap((text): Difference[] => {
    const [mine = [], theirs = []] = [here.get(text), there.get(text)];
    const repeated = [
      ...(mine.length > 1
        ? [
            {
              key: named(mine[0]),
              kind: 'duplicate' as const,
              side: 'source' as const,
              count: mine.length,
            },
          ]
        : []),
      ...(theirs.length > 1
        ? [
            {
              key: named(theirs[0]),
              kind: 'duplicate' as const,
              side: 'destination' as const,
              count: theirs.length,
            },
          ]
        : []),
    ];
    const [ours, others] = [mine, theirs].map((records) =>
      JSON.stringify(records.map((record) => JSON.stringify(record)).sort()),
    );
    if (repeated.length > 0) return ours === others ? [] : repeated;
    const [one, other] = [mine[0], theirs[0]];
    if (other === undefined) return [{ key: named(one), kind: 'missing_in_dest' }];
    if (one === undefined) return [{ key: named(other), kind: 'extra_in_dest' }];
    const columns = [...new Set([...Object.keys(one), ...Object.keys(other)])]
      .filter((name) => JSON.stringify(one[name] ?? null) !== JSON.stringify(other[name] ?? null))
      .sort();
    return columns.length === 0 ? [] : [{ key: named(one), kind: 'changed', columns }];
  });
}

/** Numbers that look random and are the same in every run. */
export function sequence(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
