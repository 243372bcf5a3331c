/** A finished run: a table for people, JSON documents for programs. */
import {
  WITHHELD_REASONS,
  type DroppedField,
  type InvocationOutcome,
  type NodeOutcome,
  documentPlace,
  type OutcomeError,
  type RunOutcome,
  type WithheldReason,
} from '../../wire/outcome.ts';
import { count, seconds, thousands } from '../../lib/text/count.ts';
import { table, type Terminal } from './render.ts';

export interface RunReportOptions {
  readonly dryRun: boolean;
  readonly limit?: number | undefined;
}

export function summarizeRun(
  terminal: Terminal,
  outcome: RunOutcome,
  { dryRun, limit }: RunReportOptions,
): void {
  const elapsed = seconds(Date.parse(outcome.finished_at) - Date.parse(outcome.started_at));
  const verdict = { completed: 'green', failed: 'red', cancelled: 'yellow' } as const;
  const written = `${count(outcome.records_written, 'record')} ${dryRun ? 'would be written' : 'written'}`;
  terminal.note(
    `${terminal.paint('bold', outcome.pipeline)} ${terminal.paint(verdict[outcome.status], outcome.status)} in ${elapsed}: ${written}`,
  );
  if (outcome.invocations.length > 0)
    for (const line of rowTable(outcome.invocations)) terminal.note(`  ${line}`);
  for (const row of outcome.invocations)
    for (const sentence of remarksOn(row)) terminal.note(`  ${row.row_id}: ${sentence}`);
  if (dryRun) terminal.note('  dry run: nothing was written and no bookmark was stored');
  else if (limit !== undefined)
    terminal.note(`  limited to ${count(limit, 'record')} for each row: no bookmark was stored`);
  if (outcome.nodes !== undefined)
    for (const line of nodeTable(outcome.nodes)) terminal.note(`  ${line}`);
  for (const row of outcome.invocations) reportDroppedFields(terminal, row);
  reportFailures(terminal, outcome);
}

/** Each failure once, with its code, its place in the document, and what to do. */
export function reportFailures(terminal: Terminal, outcome: RunOutcome): void {
  for (const row of outcome.invocations) failureMessageOf(terminal, row);
  // The run failed as a whole, before any row started.
  if (outcome.error !== null && outcome.invocations.every((row) => row.error === null))
    reportFailure(terminal, outcome.error);
}

/** Of one record, and of several. */
const WITHHELD: Readonly<Record<WithheldReason, readonly [string, string]>> = {
  limit: [
    'beyond the limit of the run was not written',
    'beyond the limit of the run were not written',
  ],
  committed: ['had been committed by an earlier run', 'had been committed by an earlier run'],
  sink: ['was left out by the sink', 'were left out by the sink'],
  poison: [
    'failed every attempt and was dropped (`poison: drop`)',
    'failed every attempt and were dropped (`poison: drop`)',
  ],
  undurable: [
    'is not known to be durable; the next run reads it again',
    'are not known to be durable; the next run reads them again',
  ],
  discarded: [
    'was thrown away because the row did not complete: the destination is as it was',
    'were thrown away because the row did not complete: the destination is as it was',
  ],
};

/** What the counts of the table do not say: where records went that no column shows. */
export function remarksOn(row: InvocationOutcome): string[] {
  const { withheld_by: withheld = {}, contract_breaches: breaches = 0 } = row;
  return [
    ...WITHHELD_REASONS.flatMap((reason) => {
      const records = withheld[reason] ?? 0;
      return records === 0
        ? []
        : [`${count(records, 'record')} ${WITHHELD[reason][records === 1 ? 0 : 1]}`];
    }),
    ...(breaches === 0
      ? []
      : [`${count(breaches, 'record')} broke the contract, which only warns`]),
    ...partialFiles(row),
  ];
}

const MOST_FILES = 3;

/** A file that was not there before grows under its name: what was flushed can be read. */
function partialFiles({ status, outputs }: InvocationOutcome): string[] {
  if (status === 'completed' || outputs === undefined) return [];
  const paths = outputs.files.filter(({ before }) => before !== 'kept').map(({ path }) => path);
  if (paths.length === 0) return [];
  const more = paths.length > MOST_FILES ? ` and ${paths.length - MOST_FILES} more` : '';
  const verb = paths.length === 1 ? 'holds' : 'hold';
  return [
    `${paths.slice(0, MOST_FILES).join(', ')}${more} ${verb} what was written before it ended`,
  ];
}

export function reportFailure(terminal: Terminal, error: OutcomeError, of = ''): void {
  terminal.note(
    `${terminal.paint('red', 'error:')} ${of}${error.message}  ${terminal.paint('dim', `[${error.code}]`)}`,
  );
  const place = documentPlace(error);
  if (place !== undefined) terminal.note(`${terminal.paint('cyan', 'at:')} ${place}`);
  if (error.hint !== undefined) terminal.note(`${terminal.paint('cyan', 'hint:')} ${error.hint}`);
}

function rowTable(invocations: readonly InvocationOutcome[]): string[] {
  const header = [
    'row',
    'source',
    'sink',
    'status',
    'read',
    'filtered',
    'dead letters',
    'written',
    'time',
    'records/s',
  ];
  const cells = invocations.map(({ balance, ...row }) => [
    row.parent_record_key === null ? row.row_id : `${row.row_id} (${row.parent_record_key})`,
    row.source,
    row.sink,
    row.status,
    thousands(balance.read),
    thousands(balance.filtered),
    thousands(balance.dead_lettered),
    thousands(balance.written),
    seconds(row.duration_ms),
    row.duration_ms === 0 ? '' : thousands((balance.read * 1000) / row.duration_ms),
  ]);
  return table(header, cells, [4, 5, 6, 7, 8, 9]);
}

function nodeTable(nodes: readonly NodeOutcome[]): string[] {
  const hasDeadLetters = nodes.some((node) => node.dead_lettered !== undefined);
  const deadLetters = (cell: string): string[] => (hasDeadLetters ? [cell] : []);
  const cells = nodes.map((node) => [
    node.id,
    node.kind,
    node.status,
    thousands(node.records_in),
    thousands(node.filtered),
    thousands(node.expanded),
    ...deadLetters(thousands(node.dead_lettered ?? 0)),
    thousands(node.records_out),
  ]);
  const header = ['node', 'kind', 'status', 'in', 'filtered', 'expanded'];
  return table([...header, ...deadLetters('dead letters'), 'out'], cells, [3, 4, 5, 6, 7]);
}

/** Names to list; JSON output has more of them. */
const LISTED_FIELDS = 10;

function reportDroppedFields(terminal: Terminal, row: InvocationOutcome): void {
  const { dropped_fields: dropped = [], rounded_fields: rounded = [] } = row;
  reportFields(terminal, row, 'not written, because the destination has no such column', dropped);
  reportFields(terminal, row, 'rounded, because the column does not hold the values', rounded);
}

// oxlint-disable-next-line max-params
function reportFields(
  terminal: Terminal,
  row: InvocationOutcome,
  what: string,
  fields: readonly DroppedField[],
): void {
  if (fields.length === 0) return;
  const listed = fields
    .slice(0, LISTED_FIELDS)
    .map(({ field, records }) => `${JSON.stringify(field)} (${count(records, 'record')})`);
  const more = fields.length > LISTED_FIELDS ? ` and ${fields.length - LISTED_FIELDS} more` : '';
  terminal.note(
    `${terminal.paint('yellow', 'warning:')} row ${row.row_id}: ${what}: ${listed.join(', ')}${more}`,
  );
}

function failureMessageOf(terminal: Terminal, row: InvocationOutcome): void {
  if (row.error !== null) reportFailure(terminal, row.error, `row ${row.row_id}: `);
}

export function rowDocument(row: InvocationOutcome): Record<string, unknown> {
  return {
    row_id: row.row_id,
    ...(row.parent_record_key === null ? {} : { parent_key: row.parent_record_key }),
    invocation_id: row.invocation_id,
    source: row.source,
    sink: row.sink,
    status: statusWord(row),
    rows_in: row.balance.read,
    rows_out: row.balance.written,
    duration_ms: row.duration_ms,
    dlq_count: row.balance.dead_lettered,
    balance: row.balance,
    ...(row.withheld_by === undefined ? {} : { withheld_by: row.withheld_by }),
    ...(row.contract_breaches === undefined ? {} : { contract_breaches: row.contract_breaches }),
    lane: row.lane,
    ...(row.dropped_fields === undefined ? {} : { dropped_fields: row.dropped_fields }),
    ...(row.rounded_fields === undefined ? {} : { rounded_fields: row.rounded_fields }),
    ...(row.bookmark === undefined ? {} : { bookmark: row.bookmark }),
    ...(row.error === null ? {} : { error: row.error.message, error_code: row.error.code }),
    ...(row.error?.hint === undefined ? {} : { hint: row.error.hint }),
    ...(row.error?.path === undefined ? {} : { error_path: row.error.path }),
    ...(row.error?.line === undefined ? {} : { error_line: row.error.line }),
  };
}

function statusWord({ status }: InvocationOutcome): 'ok' | 'error' | 'cancelled' | 'skipped' {
  if (status === 'completed') return 'ok';
  return status === 'failed' ? 'error' : status;
}

export function runDocument(
  outcome: RunOutcome,
  { dryRun, limit }: RunReportOptions,
): Record<string, unknown> {
  const sum = (pick: (row: InvocationOutcome) => number): number =>
    outcome.invocations.reduce((total, row) => total + pick(row), 0);
  return {
    pipeline: outcome.pipeline,
    started_at: outcome.started_at,
    finished_at: outcome.finished_at,
    status: outcome.status,
    ...(dryRun ? { dry_run: true } : {}),
    ...(limit === undefined ? {} : { limit }),
    totals: {
      rows: outcome.invocations.length,
      rows_out: outcome.records_written,
      dlq_count:
        sum((row) => row.balance.dead_lettered) +
        (outcome.nodes ?? []).reduce((total, node) => total + (node.dead_lettered ?? 0), 0),
      ok: sum((row) => (statusWord(row) === 'ok' ? 1 : 0)),
      failed: sum((row) => (row.status === 'failed' ? 1 : 0)),
      skipped: sum((row) => (row.status === 'skipped' ? 1 : 0)),
    },
    rows: outcome.invocations.map(rowDocument),
    ...(outcome.nodes === undefined ? {} : { nodes: outcome.nodes }),
    ...(outcome.error === null
      ? {}
      : { error: outcome.error.message, error_code: outcome.error.code }),
  };
}
