/** Default histogram buckets, in seconds. */
export const DEFAULT_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300] as const;

export type Labels = Readonly<Record<string, string | number>>;

/**
 * A metric as declared once, in the file of the thing it measures. Names carry the `svc_` prefix of
 * the specification.
 */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

export function defineMetric(definition: MetricDefinition): MetricDefinition {
  return Object.freeze(definition);
}

/**
 * One change of a metric. Workers send these to the server; the server applies them to its
 * registry.
 */
export type MetricChange =
  | {
      readonly metric: string;
      readonly op: 'inc' | 'set';
      readonly labels: Labels;
      readonly value: number;
    }
  | {
      readonly metric: string;
      readonly op: 'observe';
      readonly labels: Labels;
      readonly value: number;
    };

/** Where measurements go. Implementations never throw. */
export interface Metrics {
  inc(metric: MetricDefinition, labels: Labels, value?: number): void;
  set(metric: MetricDefinition, labels: Labels, value: number): void;
  observe(metric: MetricDefinition, labels: Labels, value: number): void;
}

export const noMetrics: Metrics = { inc: () => {}, set: () => {}, observe: () => {} };

/** Measures in several places at once. */
export function teeMetrics(...places: readonly Metrics[]): Metrics {
  return {
    inc: (metric, labels, value) => places.forEach((place) => place.inc(metric, labels, value)),
    set: (metric, labels, value) => places.forEach((place) => place.set(metric, labels, value)),
    observe: (metric, labels, value) =>
      places.forEach((place) => place.observe(metric, labels, value)),
  };
}
