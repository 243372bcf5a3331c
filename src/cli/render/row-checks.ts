/**
 * What a row is held to: while records travel, when it has ended, and when something fails. In
 * short for `plan`, in words for `explain`.
 */
import { maskingRulesFor } from '../../blocks/masking/schema.ts';
import type { RowPlan, VerifyPlan } from '../../plan/plan.ts';
import { count } from './render.ts';

interface Told {
  readonly short: string;
  readonly words: string;
}

/** What looks at records on the way, in its order. */
export function checksOf({ governance, sink }: RowPlan): Told[] {
  const { masking, quality, contract, schema } = governance;
  const rules = masking === undefined ? 0 : maskingRulesFor(masking, sink).length;
  return [
    ...(rules === 0
      ? []
      : [
          {
            short: `masking (${count(rules, 'rule')})`,
            words: 'Fields are masked before anything else sees them.',
          },
        ]),
    ...(quality === undefined
      ? []
      : [
          {
            short: `quality (${count(quality.record.length + quality.batch.length, 'check')})`,
            words: 'Quality checks are applied before writing.',
          },
        ]),
    ...(contract === undefined
      ? []
      : [
          {
            short: `contract ${contract.version} (${count(contract.fields.length, 'field')}, on breach ${contract.on_breach})`,
            words: 'Records have to keep the contract.',
          },
        ]),
    ...(schema === undefined
      ? []
      : [{ short: `schema (on drift ${schema.on_drift})`, words: DRIFT[schema.on_drift] }]),
  ];
}

const DRIFT: Readonly<Record<NonNullable<RowPlan['governance']['schema']>['on_drift'], string>> = {
  warn: 'Fields that do not fit the columns of the destination are logged.',
  evolve:
    'Fields that do not fit the columns of the destination change it: columns are added and widened.',
  ignore: 'Fields that the destination has no column for are left out.',
  quarantine:
    'Records with fields that do not fit the columns of the destination go to the dead-letter queue.',
  fail: 'Fields that do not fit the columns of the destination fail the run.',
};

/** What is judged when the row has ended. */
export function expectationsOf({ sla, reconcile, cleanUp, verify }: RowPlan): Told[] {
  return [
    ...(verify?.spec.after_run === true ? [comparisonOf(verify.spec)] : []),
    ...(reconcile === undefined
      ? []
      : [
          {
            short: `count of ${reconcile.source.type}${reconcile.tolerancePct === 0 ? '' : `, ${reconcile.tolerancePct} % fewer allowed`}`,
            words: `The run fails when fewer records were written than ${reconcile.source.type} counts${reconcile.tolerancePct === 0 ? '' : `, ${reconcile.tolerancePct} % less allowed`}.`,
          },
        ]),
    ...(cleanUp === undefined
      ? []
      : [
          {
            short: `rows with ${Object.keys(cleanUp.scope).join(', ')} that vanished are removed`,
            words: `After a complete read, rows of the destination with the same ${Object.keys(cleanUp.scope).join(', ')} that were not seen are removed.`,
          },
        ]),
    ...(sla?.min_rows_per_run === undefined
      ? []
      : [
          {
            short: `at least ${count(sla.min_rows_per_run, 'record')}`,
            words: `Fewer than ${count(sla.min_rows_per_run, 'record')} in a run is a warning.`,
          },
        ]),
    ...(sla?.max_staleness_secs === undefined
      ? []
      : [
          {
            short: `a success every ${sla.max_staleness_secs} s`,
            words: `A failure is a warning when the last success is more than ${sla.max_staleness_secs} s ago.`,
          },
        ]),
    ...(sla?.volume_anomaly === undefined
      ? []
      : [
          {
            short: `usual volume (${sla.volume_anomaly.method})`,
            words: 'An unusual number of records is a warning.',
          },
        ]),
  ];
}

function comparisonOf({
  fail_on_difference: fails,
  repair,
  allow_delete: deletes,
}: VerifyPlan['spec']): Told {
  const puts = repair
    ? `; what differs is written again${deletes ? ', and what is too much is deleted' : ''}`
    : '';
  const then = fails
    ? `The run fails when they differ${repair ? ' still' : ''}.`
    : 'A difference is a warning.';
  return {
    short: `equal to its source${repair ? ', repaired' : ''}${fails ? '' : ', or a warning'}`,
    words: `After a run the destination is compared with the source, key by key${puts}. ${then}`,
  };
}

/** What happens before a failure counts. */
export function patienceOf({ retry, breaker, poison }: RowPlan): Told[] {
  return [
    ...(retry === undefined
      ? []
      : [
          {
            short: count(retry.maxAttempts, 'attempt'),
            words: `What fails for a while is tried ${count(retry.maxAttempts, 'time')} (${retry.on.join(', ')}); a write only where a repeat changes nothing.`,
          },
        ]),
    ...(poison === undefined
      ? []
      : [
          {
            short: `${count(poison.maxRowAttempts, 'attempt')} for a record, then ${poison.action}`,
            words: `A single record is tried ${count(poison.maxRowAttempts, 'time')}, then ${POISON[poison.action]}.`,
          },
        ]),
    ...(breaker === undefined
      ? []
      : [
          {
            short: `breaker at ${count(breaker.consecutiveFailures, 'page')}`,
            words: `After ${count(breaker.consecutiveFailures, 'page')} in a row of which nothing could be written the run stops.`,
          },
        ]),
  ];
}

const POISON: Readonly<Record<NonNullable<RowPlan['poison']>['action'], string>> = {
  dlq: 'it goes to the dead-letter queue',
  drop: 'it is dropped',
  fail: 'the run fails',
};
