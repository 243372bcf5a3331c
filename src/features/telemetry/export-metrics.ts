/** Our measurements as instruments of OpenTelemetry. */
import type { Gauge, Histogram, Counter, Meter } from '@opentelemetry/api';
import {
  DEFAULT_BUCKETS,
  type Labels,
  type MetricDefinition,
  type Metrics,
} from '../../lib/metrics/metrics.ts';

type Instrument =
  | { readonly type: 'counter'; readonly instrument: Counter }
  /** A gauge here can also go up and down by steps, so its values are remembered. */
  | { readonly type: 'gauge'; readonly instrument: Gauge; readonly values: Map<string, number> }
  | { readonly type: 'histogram'; readonly instrument: Histogram };

/** Makes each instrument when its metric is first used. */
export function exportedMetrics(meter: Meter): Metrics {
  const instruments = new Map<string, Instrument>();
  const instrumentOf = (definition: MetricDefinition): Instrument => {
    const known = instruments.get(definition.name);
    if (known !== undefined) return known;
    const made = makeInstrument(definition, meter);
    instruments.set(definition.name, made);
    return made;
  };
  const record = (
    { instrument, values }: Extract<Instrument, { type: 'gauge' }>,
    labels: Labels,
    next: (now: number) => number,
  ): void => {
    const key = JSON.stringify(labels);
    const value = next(values.get(key) ?? 0);
    values.set(key, value);
    instrument.record(value, labels);
  };
  return {
    inc: (definition, labels, value = 1) => {
      const target = instrumentOf(definition);
      if (target.type === 'counter') target.instrument.add(value, labels);
      if (target.type === 'gauge') record(target, labels, (now) => now + value);
    },
    set: (definition, labels, value) => {
      const target = instrumentOf(definition);
      if (target.type === 'gauge') record(target, labels, () => value);
    },
    observe: (definition, labels, value) => {
      const target = instrumentOf(definition);
      if (target.type === 'histogram') target.instrument.record(value, labels);
    },
  };
}

function makeInstrument({ name, type, help, buckets }: MetricDefinition, meter: Meter): Instrument {
  const unit = name.endsWith('_seconds') ? { unit: 's' } : {};
  const options = { description: help, ...unit };
  switch (type) {
    case 'counter':
      return { type, instrument: meter.createCounter(name, options) };
    case 'gauge':
      return { type, instrument: meter.createGauge(name, options), values: new Map() };
    case 'histogram':
      return {
        type,
        instrument: meter.createHistogram(name, {
          ...options,
          advice: { explicitBucketBoundaries: [...(buckets ?? DEFAULT_BUCKETS)] },
        }),
      };
    default:
      return type satisfies never;
  }
}
