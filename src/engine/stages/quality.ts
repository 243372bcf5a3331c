import type {
  BatchCheckConfig,
  QualityConfig,
  RecordCheckConfig,
} from '../../blocks/quality/schema.ts';
import { RunError } from '../../lib/errors.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { compileBatchCheck, type BatchFinding } from './quality-batch.ts';
import { compileRecordCheck } from './quality-values.ts';
import type { DeadRecord, PageInWork, Reasons, Stage, StageContext } from './stage.ts';

export const QUALITY_CHECKS = defineMetric({
  name: 'svc_quality_checks_total',
  type: 'counter',
  help: 'Quality checks done, by outcome; a record check counts once a record.',
  labels: ['pipeline', 'row', 'check', 'outcome'],
});
export const QUALITY_QUARANTINED = defineMetric({
  name: 'svc_quality_records_quarantined_total',
  type: 'counter',
  help: 'Records sent to the dead-letter queue by a quality check.',
  labels: ['pipeline', 'row', 'check', 'field'],
});
export const QUALITY_ABORTS = defineMetric({
  name: 'svc_quality_aborts_total',
  type: 'counter',
  help: 'Runs ended by a quality check.',
  labels: ['pipeline', 'row', 'check'],
});
export const QUALITY_DURATION = defineMetric({
  name: 'svc_quality_check_duration_seconds',
  type: 'histogram',
  help: 'Time one quality check took for one page.',
  labels: ['check'],
});

export const QUALITY_METRICS = [
  QUALITY_CHECKS,
  QUALITY_QUARANTINED,
  QUALITY_ABORTS,
  QUALITY_DURATION,
] as const;

/** One check over the page as the checks before have left it: which records fail, and why. */
interface PageCheck {
  readonly type: string;
  /** The metric label; empty for checks of no field in particular. */
  readonly field: string;
  readonly aborts: boolean;
  run(page: PageInWork): PageFailures;
}

interface PageFailures {
  /** How many times the check was done. */
  readonly done: number;
  readonly failed: number;
  /** Positions of the records that go, ascending, each with the sentence why. */
  readonly gone: Reasons;
  /** Set when the page failed as a whole. */
  readonly whole?: string;
}

/**
 * Record checks in order, each over the records that passed the ones before, then batch checks over
 * the survivors. Going check by check is the same as record by record, and lets a check be timed
 * once a page.
 */
export function createQualityStage(config: QualityConfig, context: StageContext): Stage {
  const checks = [...config.record.map(recordPageCheck), ...config.batch.map(batchPageCheck)];
  return {
    name: 'quality',
    run(page) {
      const dead: DeadRecord[] = [];
      for (const check of checks) {
        const failures = timed(check, page, context);
        if (failures.whole !== undefined || failures.gone.size > 0)
          settle(check, failures, { page, dead, context });
        if (failures.whole !== undefined) break;
      }
      page.dead.push(...dead.sort((a, b) => a.index - b.index));
    },
  };
}

function timed(
  check: PageCheck,
  page: PageInWork,
  { env, pipeline, row }: StageContext,
): PageFailures {
  const startMs = env.clock.elapsedMs();
  const failures = check.run(page);
  env.metrics.observe(
    QUALITY_DURATION,
    { check: check.type },
    (env.clock.elapsedMs() - startMs) / 1000,
  );
  const labels = { pipeline, row, check: check.type };
  const passed = failures.done - failures.failed;
  if (passed > 0) env.metrics.inc(QUALITY_CHECKS, { ...labels, outcome: 'pass' }, passed);
  if (failures.failed > 0)
    env.metrics.inc(QUALITY_CHECKS, { ...labels, outcome: 'fail' }, failures.failed);
  return failures;
}

interface Work {
  readonly page: PageInWork;
  readonly dead: DeadRecord[];
  readonly context: StageContext;
}

/** Ends the run, or moves the failing records from the page to the dead ones. */
function settle(check: PageCheck, failures: PageFailures, { page, dead, context }: Work): void {
  const { env, pipeline, row } = context;
  const { gone, whole } = failures;
  if (check.aborts) {
    env.metrics.inc(QUALITY_ABORTS, { pipeline, row, check: check.type });
    const [first] = gone;
    throw new RunError(
      'QualityFailure',
      'quality_abort',
      `quality check failed: ${whole ?? first?.[1]}`,
      first === undefined ? {} : { index: page.originOf(first[0]) },
    );
  }
  const reasons: Reasons =
    whole === undefined
      ? gone
      : new Map(Array.from({ length: page.count }, (_, position) => [position, whole]));
  page.divert(reasons, { kind: 'QualityFailure', reason: 'quality' }, dead);
  if (reasons.size > 0)
    env.metrics.inc(
      QUALITY_QUARANTINED,
      { pipeline, row, check: check.type, field: check.field },
      reasons.size,
    );
}

const NONE: Reasons = new Map();

function recordPageCheck(config: RecordCheckConfig): PageCheck {
  const checkOf = compileRecordCheck(config);
  const aborts = config.on_failure === 'abort';
  return {
    type: config.type,
    field: config.type === 'json_schema' ? '' : config.field,
    aborts,
    run(page) {
      const problemOf = checkOf(page);
      let gone: Map<number, string> | undefined;
      for (let position = 0; position < page.count; position += 1) {
        const problem = problemOf(position);
        if (problem === undefined) continue;
        (gone ??= new Map()).set(position, problem);
        if (aborts) return { done: position + 1, failed: 1, gone };
      }
      return { done: page.count, failed: gone?.size ?? 0, gone: gone ?? NONE };
    },
  };
}

function batchPageCheck(config: BatchCheckConfig): PageCheck {
  const findingOf = compileBatchCheck(config);
  return {
    type: config.type,
    field:
      config.type === 'unique'
        ? config.fields.join(',')
        : config.type === 'row_count'
          ? ''
          : config.field,
    aborts: config.on_failure === 'abort',
    run: (page) => pageFailures(findingOf(page)),
  };
}

function pageFailures(found: BatchFinding): PageFailures {
  if (found === undefined) return { done: 1, failed: 0, gone: NONE };
  if (found.records === undefined) return { done: 1, failed: 1, gone: NONE, whole: found.message };
  return {
    done: 1,
    failed: 1,
    gone: new Map(found.records.map((position) => [position, found.message])),
  };
}
