/**
 * Judges an invocation that has ended against what is expected of its row. Nothing here can fail a
 * run.
 */
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import type { StateStore } from '../../kit/state-store.ts';
import { needsHistory, type SlaConfig } from '../../blocks/sla/schema.ts';
import type { SlaViolation } from '../../wire/outcome.ts';
import { anomalyOf } from './volume.ts';

export const SLA_VIOLATIONS = defineMetric({
  name: 'svc_pipeline_sla_violations_total',
  type: 'counter',
  help: 'Expectations of a row that a run did not meet, by kind.',
  labels: ['pipeline', 'row', 'kind'],
});
export const SLA_BASELINE = defineMetric({
  name: 'svc_pipeline_sla_baseline_runs',
  type: 'gauge',
  help: 'Successful runs that volumes are compared with.',
  labels: ['pipeline', 'row'],
});

/** What is remembered of a row between runs. */
export interface SlaHistory {
  readonly last_success_unix: number;
  /** Records written by successful runs, the newest last. */
  readonly volumes: readonly number[];
}

/** What of a state store it takes to keep it. */
export type SlaStore = Pick<StateStore, 'get' | 'put' | 'close'>;

export interface SlaSubject {
  readonly env: Env;
  readonly labels: { readonly pipeline: string; readonly row: string };
  readonly sla: SlaConfig;
  readonly stateKey: string;
  readonly succeeded: boolean;
  readonly written: number;
}

export const historyKey = (stateKey: string): string => `${stateKey}::__sla__`;

/**
 * Gives what was not met. `open` gives the state store of the row, when it has one; it is opened
 * only for checks that look back.
 */
export async function judgeSla(
  subject: SlaSubject,
  open: () => Promise<SlaStore | undefined>,
): Promise<readonly SlaViolation[]> {
  const { env, labels, sla, succeeded } = subject;
  const violations: SlaViolation[] = [];
  const violated: Violated = (violation, details) => {
    env.metrics.inc(SLA_VIOLATIONS, { ...labels, kind: violation.kind });
    env.log.warn('service level not met', { row: labels.row, kind: violation.kind, ...details });
    violations.push(violation);
  };
  try {
    if (succeeded) checkRows(subject, violated);
    const store = needsHistory(sla) ? await open() : undefined;
    if (store === undefined) return violations;
    try {
      await judgeByHistory(subject, store, violated);
    } finally {
      await store.close();
    }
  } catch (error) {
    env.log.warn('service levels could not be checked', {
      row: labels.row,
      error: messageOf(error),
    });
  }
  return violations;
}

type Violated = (
  violation: SlaViolation,
  details: Readonly<Record<string, number | string | undefined>>,
) => void;

async function judgeByHistory(
  subject: SlaSubject,
  store: SlaStore,
  violated: Violated,
): Promise<void> {
  const { env, labels, sla, stateKey, succeeded, written } = subject;
  const nowSecs = Math.floor(env.clock.now().getTime() / 1000);
  const history = await readHistory(store, subject);
  if (!succeeded) {
    const age = history === undefined ? undefined : nowSecs - history.last_success_unix;
    if (age === undefined || !isStale(age, sla)) return;
    violated(
      { kind: 'staleness', message: stalenessText(age, sla) },
      { seconds: age, allowed: sla.max_staleness_secs },
    );
    return;
  }
  const earlier = history?.volumes ?? [];
  const { volume_anomaly: volume } = sla;
  const usual = volume === undefined ? undefined : anomalyOf(written, earlier, volume);
  if (usual !== undefined) {
    violated(
      { kind: 'volume', message: `records written: ${written}; usual are ${usual}` },
      { records: written, usual },
    );
  }
  const volumes = volume === undefined ? [] : [...earlier, written].slice(-volume.window);
  await store.put(historyKey(stateKey), { last_success_unix: nowSecs, volumes });
  env.metrics.set(SLA_BASELINE, labels, volumes.length);
}

function checkRows(
  { written, sla: { min_rows_per_run: least } }: SlaSubject,
  violated: Violated,
): void {
  if (least === undefined || written >= least) return;
  const message = `records written: ${written}; at least ${least} are expected`;
  violated({ kind: 'min_rows', message }, { records: written, expected: least });
}

export function isStale(
  ageSecs: number | undefined,
  { max_staleness_secs: most }: SlaConfig,
): boolean {
  return most !== undefined && ageSecs !== undefined && ageSecs > most;
}

export function stalenessText(ageSecs: number, { max_staleness_secs: most }: SlaConfig): string {
  return `the last success was ${ageSecs} s ago; ${most} s are allowed`;
}

/** A history that cannot be parsed is logged and replaced. */
async function readHistory(
  store: SlaStore,
  { env, labels, stateKey }: SlaSubject,
): Promise<SlaHistory | undefined> {
  try {
    const value = await store.get(historyKey(stateKey));
    const history = value === undefined ? undefined : historyOf(value);
    if (value === undefined || history !== undefined) return history;
    env.log.warn('the service-level history cannot be read and starts again', { row: labels.row });
  } catch (error) {
    env.log.warn('the service-level history cannot be read and starts again', {
      row: labels.row,
      error: messageOf(error),
    });
  }
  return undefined;
}

export function historyOf(value: JsonValue): SlaHistory | undefined {
  if (!isObject(value)) return undefined;
  const { last_success_unix: last, volumes } = value;
  if (
    typeof last !== 'number' ||
    !Array.isArray(volumes) ||
    !volumes.every((one) => typeof one === 'number')
  )
    return undefined;
  return { last_success_unix: last, volumes };
}
