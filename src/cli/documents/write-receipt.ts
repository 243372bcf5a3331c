/** The receipt of a run of the command line: one file to keep, or to attach to a ticket. */
import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { describeFiles } from '../../features/receipt/describe-files.ts';
import type { Receipt, ReceiptInvocation, ReceiptPlan } from '../../features/receipt/receipt.ts';
import { receiptPage } from '../../features/receipt/receipt-page.ts';
import { rowDocument } from '../../features/plan-view/plan-view.ts';
import { AppError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { count } from '../../lib/text/count.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Plan } from '../../plan/plan.ts';
import { documentPlace, type InvocationOutcome, type RunOutcome } from '../../wire/outcome.ts';
import type { CliContext } from '../framework/context.ts';
import { usageError } from '../framework/exit.ts';
import { shortPath } from '../framework/report-error.ts';
import { remarksOn } from '../render/run-report.ts';
import { replaceFile } from './replace-file.ts';

export interface ReceiptOfRun {
  readonly runId: string;
  readonly outcome: RunOutcome;
  readonly plan: Plan;
  readonly params: JsonObject;
  readonly dryRun: boolean;
  readonly limit: number | undefined;
}

/** Before the run: a file that cannot be written is better told of now than in two hours. */
export async function receiptFile({ world }: CliContext, name: string): Promise<string> {
  const file = path.resolve(world.cwd, name);
  const folder = path.dirname(file);
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    const { says } = fileFault(error);
    throw usageError(`--receipt ${name}: the folder ${shortPath(folder, world.cwd)}: ${says}`);
  }
  const found = await stat(file).catch(() => undefined);
  if (found !== undefined && !found.isFile())
    throw usageError(`--receipt ${name}: this is not a file that can be replaced`);
  return file;
}

export async function writeReceipt(
  context: CliContext,
  file: string,
  run: ReceiptOfRun,
): Promise<void> {
  const { world, terminal, env } = context;
  const page = receiptPage(await receiptOf(context, run), env.redactor);
  try {
    await replaceFile(file, page);
  } catch (error) {
    throw new AppError(
      'unwritable_file',
      `the receipt ${shortPath(file, world.cwd)} cannot be written: ${fileFault(error).says}`,
    );
  }
  terminal.note(`receipt: ${shortPath(file, world.cwd)}`);
}

async function receiptOf(context: CliContext, run: ReceiptOfRun): Promise<Receipt> {
  const { runId, outcome, plan, params, dryRun, limit } = run;
  const { status, started_at, finished_at, records_written, invocations, error } = outcome;
  const document = await documentOf(context);
  return {
    run_id: runId,
    name: outcome.pipeline,
    status,
    started_at,
    finished_at,
    records_written,
    labels: {},
    error: error?.message ?? null,
    notes: notesOf({ dryRun, limit }),
    invocations: invocations.map((one) => invocationOf(one)),
    nodes: outcome.nodes ?? [],
    plan: planOf(plan, params),
    files: await describeFiles(filesOf(outcome), {
      endedAt: finished_at,
      mostBytes: Number.POSITIVE_INFINITY,
      signal: NEVER,
    }),
    ...(document === undefined ? {} : { document }),
    made: {
      at: context.world.clock.now().toISOString(),
      by: 'headgate run',
      version: context.wiring.version,
      runtime: `Node.js ${process.version}, ${process.platform}`,
    },
  };
}

/** Who does not want to wait for the checksums ends the program with Ctrl-C. */
const NEVER = new AbortController().signal;

function notesOf({ dryRun, limit }: Pick<ReceiptOfRun, 'dryRun' | 'limit'>): string[] {
  if (dryRun) return ['A dry run: nothing was written and no bookmark was stored.'];
  return limit === undefined
    ? []
    : [`Limited to ${count(limit, 'record')} for each row: no bookmark was stored.`];
}

function invocationOf(one: InvocationOutcome): ReceiptInvocation {
  const { row_id: row, parent_record_key: key, status, started_at, duration_ms, balance } = one;
  return {
    row,
    key,
    status,
    started_at,
    duration_ms,
    balance,
    error: one.error?.message ?? null,
    code: one.error?.code,
    place: one.error === null ? undefined : documentPlace(one.error),
    hint: one.error?.hint,
    remarks: remarksOn(one),
  };
}

function planOf(plan: Plan, params: JsonObject): ReceiptPlan {
  return {
    rows: plan.rows.map((row) => rowDocument(row, plan)),
    edges: (plan.topology?.edges ?? []).map(({ from, to }) => ({ from, to })),
    params,
    warnings: plan.warnings.map(({ path: place, message }) => ({ path: place, message })),
  };
}

/** A file that several rows wrote is listed once. */
function filesOf({ invocations }: RunOutcome) {
  const files = invocations.flatMap(({ row_id: row, outputs }) =>
    (outputs?.files ?? []).map((file) => ({
      path: file.path,
      row,
      dataset_uri: outputs?.dataset_uri ?? '',
    })),
  );
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

/** Only a document that stands in a file has a text that somebody can compare. */
async function documentOf(context: CliContext): Promise<Receipt['document']> {
  const file = context.document();
  if (file === undefined) return undefined;
  const bytes = await readFile(path.resolve(context.world.cwd, file)).catch(() => undefined);
  return bytes === undefined
    ? undefined
    : { name: shortPath(file, context.world.cwd), sha256: hash('sha256', bytes) };
}
