/**
 * What the tests of governance stages share: a context that keeps metrics and log lines, and a way
 * to run one page.
 */
import { stillClock } from '../fakes/clock.ts';
import { testEnv } from '../fakes/env.ts';
import { Page } from '../../src/kit/page.ts';
import type { JsonValue } from '../../src/lib/text/json.ts';
import type { Labels, MetricDefinition, Metrics } from '../../src/lib/metrics/metrics.ts';
import {
  PageInWork,
  type DeadRecord,
  type Stage,
  type StageContext,
} from '../../src/engine/stages/stage.ts';

export interface TestContext extends StageContext {
  /** Counters by `name{label=value,…}`. */
  readonly counts: ReadonlyMap<string, number>;
  readonly lines: readonly string[];
}

export function testContext(sink: { preset?: string; type?: string } = {}): TestContext {
  const counts = new Map<string, number>();
  const env = testEnv({ clock: stillClock(), metrics: countingMetrics(counts) });
  return {
    env,
    pipeline: 'p',
    row: 'r',
    sinkPreset: sink.preset ?? 'default',
    sinkType: sink.type ?? 'jsonl',
    counts,
    get lines() {
      return env.lines.map(({ line }) => line);
    },
  };
}

function countingMetrics(counts: Map<string, number>): Metrics {
  const nameOf = (metric: MetricDefinition, labels: Labels): string => {
    const declared = [...metric.labels].sort().join();
    if (Object.keys(labels).sort().join() !== declared)
      throw new Error(`${metric.name} has the labels ${declared}`);
    return `${metric.name}{${metric.labels.map((label) => `${label}=${labels[label]}`).join(',')}}`;
  };
  return {
    inc: (metric, labels, value = 1) =>
      void counts.set(nameOf(metric, labels), (counts.get(nameOf(metric, labels)) ?? 0) + value),
    set: () => {},
    observe: (metric, labels) => void nameOf(metric, labels),
  };
}

export interface StageOutcome {
  readonly records: readonly JsonValue[];
  readonly origins: readonly number[];
  readonly dead: readonly DeadRecord[];
}

/** Runs a stage over one page whose records came in the order given. */
export async function runStage(stage: Stage, records: readonly JsonValue[]): Promise<StageOutcome> {
  const page = new PageInWork(Page.ofRecords(records), []);
  await stage.run(page);
  return {
    records: page.records,
    origins: page.records.map((_, position) => page.originOf(position)),
    dead: page.dead,
  };
}
