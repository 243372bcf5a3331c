/** The registry behind `/metrics`. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  DEFAULT_BUCKETS,
  defineMetric,
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
  /** Shows nothing any more of series with one of these values of the label. */
  readonly forget: (label: string, values: readonly string[]) => void;
}

type Meter =
  | { readonly type: 'counter'; readonly meter: Counter; readonly labels: readonly string[] }
  | { readonly type: 'gauge'; readonly meter: Gauge; readonly labels: readonly string[] }
  | { readonly type: 'histogram'; readonly meter: Histogram; readonly labels: readonly string[] };

export interface RegistryOptions {
  /** Of the program, which is shown with it. */
  readonly version?: string;
  /** In seconds; they stand for those of every histogram. */
  readonly buckets?: readonly number[] | undefined;
  /** Labels whose values may come without end. */
  readonly bounds?: readonly LabelBound[];
  /** Milliseconds of a clock that never goes back. */
  readonly elapsedMs?: () => number;
}

/** Series are kept for so many values of the label, the latest. */
export interface LabelBound {
  readonly label: string;
  readonly values: number;
  /** Those of a value that is not measured for so long are forgotten; absent: never. */
  readonly idleMs?: number;
}

const buildInfo = defineMetric({
  name: 'svc_build_info',
  type: 'gauge',
  help: 'Always 1; its label is the version of the program.',
  labels: ['version'],
});
const up = defineMetric({
  name: 'svc_up',
  type: 'gauge',
  help: '1 while the program answers.',
  labels: [],
});

/**
 * Listed metrics are shown from the start (at zero where they have no labels); others when they are
 * first used.
 */
export function createRegistry(
  definitions: readonly MetricDefinition[],
  { version, buckets, bounds = [], elapsedMs = () => performance.now() }: RegistryOptions = {},
): MetricRegistry {
  const registry = new Registry();
  const meters = new Map<string, Meter>();
  const bounded = bounds.map((bound) => ({ bound, latest: new Latest(bound) }));
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
  if (version !== undefined) {
    change(meterOf(buildInfo), 'set', { version }, 1);
    change(meterOf(up), 'set', {}, 1);
  }

  const see = (labels: Labels): void => {
    for (const { bound, latest } of bounded) latest.see(labels[bound.label], elapsedMs);
  };
  const measure = (meter: Meter, op: MetricChange['op'], given: Labels, value: number): void => {
    const labels = shortened(given);
    change(meter, op, labels, value);
    see(labels);
    forgetOld(({ latest }) => latest.takeOld());
  };
  const forgetOld = (take: (one: (typeof bounded)[number]) => readonly string[]): void => {
    for (const one of bounded) {
      const old = take(one);
      if (old.length > 0) forgetValues(one.bound.label, old);
    }
  };
  const forgetValues = (label: string, values: readonly string[]): void => {
    const gone = { label, values: new Set(values) };
    const work = [...meters.values()].map((meter) => forget(meter, gone));
    forgetting = Promise.all([forgetting, ...work]);
  };

  return {
    metrics: {
      inc: (definition, labels, value = 1) => measure(meterOf(definition), 'inc', labels, value),
      set: (definition, labels, value) => measure(meterOf(definition), 'set', labels, value),
      observe: (definition, labels, value) =>
        measure(meterOf(definition), 'observe', labels, value),
    },
    render: async () => {
      forgetOld(({ latest }) => latest.takeIdle(elapsedMs()));
      await forgetting;
      return registry.metrics();
    },
    apply: (changes, explained = []) => {
      for (const definition of explained) meterOf(definition);
      for (const { metric, op, labels: given, value } of changes) {
        const labels = shortened(given);
        const meter = meters.get(metric);
        if (meter !== undefined) change(meter, op, labels, value);
        see(labels);
      }
      forgetOld(({ latest }) => latest.takeOld());
    },
    forget: forgetValues,
  };
}

/** Longer values are cut: every scrape repeats them in every line. */
const LONGEST_LABEL = 256;

function shortened(labels: Labels): Labels {
  const isLong = (value: string | number): boolean => String(value).length > LONGEST_LABEL;
  if (!Object.values(labels).some(isLong)) return labels;
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [
      name,
      isLong(value) ? `${String(value).slice(0, LONGEST_LABEL)}…` : value,
    ]),
  );
}

/** The values of a label, by when they were last seen. */
class Latest {
  readonly #most: number;
  readonly #idleMs: number;
  /** When each was seen, the one seen longest ago first. */
  readonly #seen = new Map<string, number>();
  #last: string | undefined;

  constructor({ values, idleMs = Number.POSITIVE_INFINITY }: LabelBound) {
    this.#most = values;
    this.#idleMs = idleMs;
  }

  see(value: string | number | undefined, elapsedMs: () => number): void {
    // What comes together is mostly of one run; whose time is noted again before it is judged.
    if (typeof value !== 'string' || value === this.#last) return;
    this.#last = value;
    this.#seen.delete(value);
    this.#seen.set(value, elapsedMs());
  }

  /** Not measured for too long; not the one measured last, whose time is that of its first change. */
  takeIdle(now: number): readonly string[] {
    const idle = [...this.#seen]
      .filter(([value, at]) => value !== this.#last && now - at > this.#idleMs)
      .map(([value]) => value);
    for (const value of idle) this.#seen.delete(value);
    return idle;
  }

  /** Where there are too many: several at once, because looking for their series takes long. */
  takeOld(): readonly string[] {
    if (this.#seen.size <= this.#most) return [];
    const old = [...this.#seen.keys()].slice(0, this.#seen.size - Math.ceil(this.#most * 0.9));
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
