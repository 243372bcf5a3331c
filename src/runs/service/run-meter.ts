import type { RunEvent, RunIdentity } from '../../wire/run-event.ts';
import type { RunListener } from './run-listener.ts';
import type { Labels, MetricChange, MetricDefinition } from '../../lib/metrics/metrics.ts';

export type ApplyMetrics = (
  changes: readonly MetricChange[],
  definitions: readonly MetricDefinition[],
) => void;

/** What a run is called, and where its measurements are added if not there. */
type Measured = Pick<RunIdentity, 'name' | 'measured_as'>;

/**
 * Passes a run's measurements on, and takes back what a worker that died would have taken back: its
 * "in flight" gauges.
 */
export class RunMeter {
  readonly #apply: ApplyMetrics;
  readonly #run: Measured | undefined;
  readonly #inFlight = new Map<string, { readonly metric: string; readonly labels: Labels }>();

  constructor(apply: ApplyMetrics, run?: Measured) {
    this.#apply = apply;
    this.#run = run;
  }

  hear(event: RunEvent): void {
    if (event.kind === 'metrics') this.apply(event.changes, event.definitions);
    else if (event.kind === 'crashed') this.settle();
  }

  apply(measured: readonly MetricChange[], definitions: readonly MetricDefinition[]): void {
    const run = this.#run;
    const changes =
      run === undefined || run.measured_as === null
        ? measured
        : measured.map((change) => labelled(change, run));
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

function labelled(change: MetricChange, { name, measured_as }: Measured): MetricChange {
  return change.labels['pipeline'] === name && measured_as !== null
    ? { ...change, labels: { ...change.labels, pipeline: measured_as } }
    : change;
}

/** Adds what runs measure to what the server shows. */
export function metricsListener(apply: ApplyMetrics): RunListener {
  return {
    name: 'metrics',
    follow: (run) => {
      const meter = new RunMeter(apply, run);
      return (event) => meter.hear(event);
    },
  };
}
