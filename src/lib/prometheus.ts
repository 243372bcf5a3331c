/** The registry behind `/metrics`. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { DEFAULT_BUCKETS, type Labels, type MetricChange, type MetricDefinition, type Metrics } from './metrics.ts';

export interface MetricRegistry {
  readonly metrics: Metrics;
  /** The text exposition format, version 0.0.4. */
  readonly render: () => Promise<string>;
  /** Changes measured elsewhere; `definitions` explains metrics that this registry may not know yet. */
  readonly apply: (changes: readonly MetricChange[], definitions?: readonly MetricDefinition[]) => void;
}

type Meter =
  | { readonly type: 'counter'; readonly meter: Counter; readonly labels: readonly string[] }
  | { readonly type: 'gauge'; readonly meter: Gauge; readonly labels: readonly string[] }
  | { readonly type: 'histogram'; readonly meter: Histogram; readonly labels: readonly string[] };

/**
 * Listed metrics are shown from the start (at zero where they have no labels); others when they are first used. `buckets`, in seconds,
 * stand for those of every histogram.
 */
export function createRegistry(definitions: readonly MetricDefinition[], buckets?: readonly number[]): MetricRegistry {
  const registry = new Registry();
  const meters = new Map<string, Meter>();

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
    render: () => registry.metrics(),
    apply: (changes, explained = []) => {
      for (const definition of explained) meterOf(definition);
      for (const { metric, op, labels, value } of changes) {
        const meter = meters.get(metric);
        if (meter !== undefined) change(meter, op, labels, value);
      }
    },
  };
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
      return { type, meter: new Histogram({ ...options, buckets: [...(definition.buckets ?? DEFAULT_BUCKETS)] }), labels };
    default:
      return type satisfies never;
  }
}

/** A measurement that does not fit its definition is dropped: measuring must not fail what is measured. */
function change(target: Meter, op: MetricChange['op'], labels: Labels, value: number): void {
  if (!Number.isFinite(value) || !Object.keys(labels).every((label) => target.labels.includes(label))) return;
  if (op === 'inc') {
    if (target.type === 'gauge') target.meter.inc(labels, value);
    else if (target.type === 'counter' && value >= 0) target.meter.inc(labels, value);
  } else if (op === 'set') {
    if (target.type === 'gauge') target.meter.set(labels, value);
  } else if (target.type === 'histogram') target.meter.observe(labels, value);
}
