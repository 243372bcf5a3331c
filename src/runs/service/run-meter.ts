import type { Labels, MetricChange, MetricDefinition } from '../../lib/metrics/metrics.ts';

export type ApplyMetrics = (
  changes: readonly MetricChange[],
  definitions: readonly MetricDefinition[],
) => void;

/** What a run is called, and where its measurements are added if not there. */
interface Measured {
  readonly name: string;
  readonly measuredAs?: string | undefined;
}

/**
 * Passes a run's measurements on, and takes back what a worker that died would have taken back: its
 * "in flight" gauges.
 */
export class RunMeter {
  readonly #apply: ApplyMetrics;
  readonly #run: Measured;
  readonly #inFlight = new Map<string, { readonly metric: string; readonly labels: Labels }>();

  constructor(apply: ApplyMetrics, run: Measured) {
    this.#apply = apply;
    this.#run = run;
  }

  apply(measured: readonly MetricChange[], definitions: readonly MetricDefinition[]): void {
    const { name, measuredAs } = this.#run;
    const changes =
      measuredAs === undefined
        ? measured
        : measured.map((change) => labelled(change, { name, measuredAs }));
    for (const change of changes) {
      if (change.op !== 'set' || !change.metric.endsWith('_in_flight')) continue;
      const key = `${change.metric} ${JSON.stringify(change.labels)}`;
      if (change.value === 0) this.#inFlight.delete(key);
      else this.#inFlight.set(key, { metric: change.metric, labels: change.labels });
    }
    this.#apply(changes, definitions);
  }

  settle(): void {
    if (this.#inFlight.size === 0) return;
    this.#apply(
      [...this.#inFlight.values()].map(({ metric, labels }) => ({
        metric,
        labels,
        op: 'set',
        value: 0,
      })),
      [],
    );
    this.#inFlight.clear();
  }
}

function labelled(
  change: MetricChange,
  { name, measuredAs }: { readonly name: string; readonly measuredAs: string },
): MetricChange {
  return change.labels['pipeline'] === name
    ? { ...change, labels: { ...change.labels, pipeline: measuredAs } }
    : change;
}
