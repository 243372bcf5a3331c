/**
 * Collects measurements for another process or thread: sums are added up, everything else is kept
 * in order.
 */
import type { Labels, MetricChange, MetricDefinition, Metrics } from './metrics.ts';

/** More observations are dropped, because then the relay has not been read for a long time. */
const MAX_OBSERVATIONS = 50_000;

export interface Measurements {
  readonly changes: readonly MetricChange[];
  /** Metrics used for the first time in this relay. */
  readonly definitions: readonly MetricDefinition[];
}

export interface MetricRelay {
  readonly metrics: Metrics;
  /** The measurements since the last call. */
  take(): Measurements;
}

interface Totals {
  readonly metric: string;
  readonly labels: Labels;
  readonly op: 'inc' | 'set';
  value: number;
}

export function createMetricRelay(): MetricRelay {
  const known = new Set<string>();
  let definitions: MetricDefinition[] = [];
  let totals = new Map<string, Totals>();
  let observations: MetricChange[] = [];

  const introduce = (definition: MetricDefinition): void => {
    if (known.has(definition.name)) return;
    known.add(definition.name);
    definitions.push(definition);
  };
  const total = (definition: MetricDefinition, op: 'inc' | 'set', labels: Labels): Totals => {
    introduce(definition);
    const key = `${op} ${definition.name} ${JSON.stringify(labels)}`;
    let found = totals.get(key);
    if (found === undefined) {
      found = { metric: definition.name, labels, op, value: 0 };
      totals.set(key, found);
    }
    return found;
  };

  return {
    metrics: {
      inc: (definition, labels, value = 1) => {
        total(definition, 'inc', labels).value += value;
      },
      set: (definition, labels, value) => {
        total(definition, 'set', labels).value = value;
      },
      observe: (definition, labels, value) => {
        introduce(definition);
        if (observations.length < MAX_OBSERVATIONS)
          observations.push({ metric: definition.name, op: 'observe', labels, value });
      },
    },
    take: () => {
      const taken = { changes: [...totals.values(), ...observations], definitions };
      totals = new Map();
      observations = [];
      definitions = [];
      return taken;
    },
  };
}

/** Applies the measurements of a relay as if they had been made here. */
export function measurementsInto(metrics: Metrics): (measured: Measurements) => void {
  const known = new Map<string, MetricDefinition>();
  return ({ changes, definitions }) => {
    for (const definition of definitions) known.set(definition.name, definition);
    for (const { metric, op, labels, value } of changes) {
      const definition = known.get(metric);
      if (definition !== undefined) metrics[op](definition, labels, value);
    }
  };
}
