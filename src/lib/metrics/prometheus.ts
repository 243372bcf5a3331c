/** The registry behind `/metrics`. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  DEFAULT_BUCKETS,
  type Labels,
  type MetricChange,
  type MetricDefinition,
  type Metrics,
} from './metrics.ts';

export interface MetricRegistry {
  readonly metrics: Metrics;
  /** The text exposition format, version 0.0.4. */
  readonly render: () => Promise<string>;
  /**
   * Changes measured elsewhere; `definitions` explains metrics that this registry may not know yet.
   */
  readonly apply: (
    changes: readonly MetricChange[],
    definitions?: readonly MetricDefinition[],
  ) => void;
}

type Meter =
  | { readonly type: 'counter'; readonly meter: Counter; readonly labels: readonly string[] }
  | { readonly type: 'gauge'; readonly meter: Gauge; readonly labels: readonly string[] }
  | { readonly type: 'histogram'; readonly meter: Histogram; readonly labels: readonly string[] };

export interface RegistryOptions {
  /** In seconds; they stand for those of every histogram. */
  readonly buckets?: readonly number[] | undefined;
  /**
   * A label whose values may come without end: of the changes measured elsewhere, series are kept
   * for so many of its values, the latest.
   */
  readonly bound?: { readonly label: string; readonly values: number };
}

/**
 * Listed metrics are shown from the start (at zero where they have no labels); others when they are
 * first used.
 */
export function createRegistry(
  definitions: readonly MetricDefinition[],
  { buckets, bound }: RegistryOptions = {},
): MetricRegistry {
  const registry = new Registry();
  const meters = new Map<string, Meter>();
  const latest = bound === undefined ? undefined : new Latest(bound.values);
  let forgetting: Promise<unknown> = Promise.resolve();

  const meterOf = (definition: MetricDefinition): Meter => {
    let meter = meters.get(definition.name);
    if (meter === undefined) {
      meter = makeMeter(buckets === undefined ? definition : { ...definition, buckets }, registry);
      meters.set(definition.name, meter);
    }
    return meter;
  };
  for (const definition of definitions) meterOf(definition);

  return {
    metrics: {
      inc: (definition, labels, value = 1) => change(meterOf(definition), 'inc', labels, value),
      set: (definition, labels, value) => change(meterOf(definition), 'set', labels, value),
      observe: (definition, labels, value) => change(meterOf(definition), 'observe', labels, value),
    },
    render: async () => {
      await forgetting;
      return registry.metrics();
    },
    apply: (changes, explained = []) => {
      for (const definition of explained) meterOf(definition);
      for (const { metric, op, labels, value } of changes) {
        const meter = meters.get(metric);
        if (meter !== undefined) change(meter, op, labels, value);
        if (bound !== undefined) latest?.see(labels[bound.label]);
      }
      const old = latest?.takeOld() ?? [];
      if (bound === undefined || old.length === 0) return;
      const gone = { label: bound.label, values: new Set(old) };
      forgetting = Promise.all([
        forgetting,
        ...[...meters.values()].map((meter) => forget(meter, gone)),
      ]);
    },
  };
}

/** The values of a label, by when they were last seen. */
class Latest {
  readonly #most: number;
  /** The one seen longest ago first. */
  readonly #seen = new Set<string>();
  #last: string | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  see(value: string | number | undefined): void {
    // What comes together is mostly of one run.
    if (typeof value !== 'string' || value === this.#last) return;
    this.#last = value;
    this.#seen.delete(value);
    this.#seen.add(value);
  }

  /** Where there are too many: several at once, because looking for their series takes long. */
  takeOld(): readonly string[] {
    if (this.#seen.size <= this.#most) return [];
    const old = [...this.#seen].slice(0, this.#seen.size - Math.ceil(this.#most * 0.9));
    for (const value of old) this.#seen.delete(value);
    return old;
  }
}

async function forget(
  { meter, labels: names }: Meter,
  { label, values }: { readonly label: string; readonly values: ReadonlySet<string> },
): Promise<void> {
  if (!names.includes(label)) return;
  const { values: series } = await meter.get();
  for (const { labels } of series) {
    if (!values.has(String(labels[label]))) continue;
    meter.remove(
      Object.fromEntries(
        names.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])),
      ),
    );
  }
}

function makeMeter(definition: MetricDefinition, registry: Registry): Meter {
  const { name, help, labels, type } = definition;
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  switch (type) {
    case 'counter':
      return { type, meter: new Counter(options), labels };
    case 'gauge':
      return { type, meter: new Gauge(options), labels };
    case 'histogram':
      return {
        type,
        meter: new Histogram({ ...options, buckets: [...(definition.buckets ?? DEFAULT_BUCKETS)] }),
        labels,
      };
    default:
      return type satisfies never;
  }
}

/**
 * A measurement that does not fit its definition is dropped: measuring must not fail what is
 * measured.
 */
function change(target: Meter, op: MetricChange['op'], labels: Labels, value: number): void {
  if (
    !Number.isFinite(value) ||
    !Object.keys(labels).every((label) => target.labels.includes(label))
  )
    return;
  if (op === 'inc') {
    if (target.type === 'gauge') target.meter.inc(labels, value);
    else if (target.type === 'counter' && value >= 0) target.meter.inc(labels, value);
  } else if (op === 'set') {
    if (target.type === 'gauge') target.meter.set(labels, value);
  } else if (target.type === 'histogram') target.meter.observe(labels, value);
}
