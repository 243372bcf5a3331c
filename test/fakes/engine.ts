/**
 * For tests of the engine: running a hand-made plan, metrics that can be read, and a real SQLite
 * table.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteSink } from '../../src/connectors/sqlite/index.ts';
import { execute } from '../../src/engine/execute.ts';
import type { ExecuteOptions } from '../../src/engine/engine.ts';
import { check } from '../../src/kit/schema.ts';
import type { SinkDefinition } from '../../src/kit/sink.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { Labels, MetricDefinition, Metrics } from '../../src/lib/metrics/metrics.ts';
import type { PlannedPart, Plan } from '../../src/plan/plan.ts';
import type { RunOutcome } from '../../src/wire/outcome.ts';
import { testEnv } from './env.ts';
import { noParts, part } from './plan.ts';

/** Runs a plan with everything optional left out. */
export function run(plan: Plan, overrides: Partial<ExecuteOptions> = {}): Promise<RunOutcome> {
  const signal = new AbortController().signal;
  return execute({
    plan,
    parts: noParts,
    env: testEnv(),
    runId: 'run-1',
    clock: new Date('2026-01-31T00:00:00Z'),
    signal,
    ...overrides,
  });
}

/**
 * Metrics by `name{value,…}` with the values of the labels in their declared order. A label that is
 * not declared is an error.
 */
export function countedMetrics(): Metrics & {
  readonly counts: ReadonlyMap<string, number>;
  of(name: string): Record<string, number>;
} {
  const counts = new Map<string, number>();
  const nameOf = (metric: MetricDefinition, labels: Labels): string => {
    if (Object.keys(labels).sort().join() !== [...metric.labels].sort().join())
      throw new Error(`${metric.name} has other labels`);
    return `${metric.name}{${metric.labels.map((label) => labels[label]).join(',')}}`;
  };
  return {
    counts,
    of: (name) =>
      Object.fromEntries(
        [...counts]
          .filter(([key]) => key.startsWith(`${name}{`))
          .map(([key, n]) => [key.slice(name.length), n]),
      ),
    inc: (metric, labels, value = 1) =>
      void counts.set(nameOf(metric, labels), (counts.get(nameOf(metric, labels)) ?? 0) + value),
    set: (metric, labels, value) => void counts.set(nameOf(metric, labels), value),
    observe: (metric, labels) => void nameOf(metric, labels),
  };
}

export interface SqliteTable extends Disposable {
  readonly path: string;
  /** The product's own sink on the table, with records as columns. */
  sink(config?: JsonObject): PlannedPart<SinkDefinition>;
  query(sql: string): Record<string, unknown>[];
}

/** A database file of its own with whatever `setup` makes in it. */
export function sqliteTable(setup = ''): SqliteTable {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-engine-'));
  const path = join(folder, 'data.db');
  const query = (sql: string): Record<string, unknown>[] => {
    const db = new DatabaseSync(path);
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  };
  const db = new DatabaseSync(path);
  db.exec(setup);
  db.close();
  return {
    path,
    query,
    sink(config = {}) {
      const checked = check(sqliteSink.config, {
        database_url: path,
        table_name: 't',
        column_mapping: 'auto_map',
        ...config,
      });
      if (!checked.ok) throw new Error(checked.issues[0]?.message);
      return { ...part(sqliteSink), parsed: checked.value };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
