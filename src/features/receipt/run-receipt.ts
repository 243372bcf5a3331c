/** The receipt of a run in the history. */
import { hash } from 'node:crypto';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import type { Runs } from '../../runs/service/runs.ts';
import type { RunPlan } from '../../wire/rerun.ts';
import type { InvocationRecord, RunRecord } from '../../wire/run.ts';
import { isTerminal } from '../../wire/run-status.ts';
import { receiptFilesJob } from './files-job.ts';
import type { FileToDescribe } from './describe-files.ts';
import type { Receipt, ReceiptFile, ReceiptInvocation, ReceiptPlan } from './receipt.ts';
import { receiptPage } from './receipt-page.ts';

/** Files of a run, and whether they lie on the machine of this server. */
export interface RunFile extends FileToDescribe {
  readonly isHere: boolean;
  readonly isDeleted: boolean;
}

export interface RunReceiptServices {
  readonly env: Pick<Env, 'clock' | 'redactor'>;
  readonly version: string;
  readonly runs: Pick<Runs, 'get' | 'submitted'>;
  readonly jobs: Jobs;
  readonly plan: (runId: string, signal: AbortSignal) => Promise<RunPlan>;
  readonly filesOf: (runId: string) => Promise<readonly RunFile[]>;
}

/** Rejects with `RefusedError`: 404 for an unknown run, 409 for one that has not ended. */
export type ShowReceipt = (runId: string, signal: AbortSignal) => Promise<string>;

/** A receipt is asked for by people who wait: beyond this, files have no checksum. */
const MOST_BYTES = 4 * 1024 ** 3;

export function createRunReceipt(services: RunReceiptServices): ShowReceipt {
  const { env, version, runs } = services;
  return async (runId, signal) => {
    const run = await runs.get(runId);
    if (!isTerminal(run.status))
      throw new RefusedError('conflict', `the run is ${run.status}: it has no receipt yet`, {
        hint: 'ask again when it has ended',
      });
    const [plan, document, files] = await Promise.all([
      planOf(runId, services, signal),
      documentOf(runId, services),
      filesOf(run, services, signal),
    ]);
    const receipt: Receipt = {
      ...receiptOf(run),
      plan,
      files,
      ...(document === undefined ? {} : { document }),
      made: {
        at: env.clock.now().toISOString(),
        by: 'server',
        version,
        runtime: `Node.js ${process.version}, ${process.platform}`,
      },
    };
    return receiptPage(receipt, env.redactor);
  };
}

function receiptOf(run: RunRecord): Omit<Receipt, 'plan' | 'files' | 'made'> {
  const { run_id, name, status, labels, submitted_at, started_at, finished_at } = run;
  return {
    run_id,
    name,
    status,
    labels,
    submitted_at,
    started_at,
    finished_at,
    records_written: run.records_written,
    error: run.error,
    notes:
      run.attempt === 0
        ? []
        : [`Attempt ${run.attempt + 1}: an earlier one was lost with its server.`],
    invocations: run.invocations.map((one) => invocationOf(one)),
    nodes: [],
  };
}

function invocationOf(one: InvocationRecord): ReceiptInvocation {
  const { row_id: row, parent_record_key: key, status, started_at, duration_ms, balance } = one;
  return {
    row,
    key,
    status,
    started_at,
    duration_ms,
    balance,
    error: one.error,
    place: one.error_place,
    hint: one.error_hint,
  };
}

/** What is not stored any more does not keep the rest from being shown. */
async function planOf(
  runId: string,
  { plan }: RunReceiptServices,
  signal: AbortSignal,
): Promise<ReceiptPlan | string> {
  try {
    const { rows, graph, params, warnings } = await plan(runId, signal);
    return { rows, edges: edgesOf(graph as JsonValue | undefined), params, warnings };
  } catch (error) {
    signal.throwIfAborted();
    return `The plan cannot be shown: ${messageOf(error)}`;
  }
}

function edgesOf(graph: JsonValue | undefined): ReceiptPlan['edges'] {
  const edges = graph !== undefined && isObject(graph) ? graph['edges'] : undefined;
  return Array.isArray(edges) ? (edges as unknown as ReceiptPlan['edges']) : [];
}

async function documentOf(
  runId: string,
  { runs }: RunReceiptServices,
): Promise<Receipt['document']> {
  try {
    const { content } = await runs.submitted(runId);
    return { name: 'as submitted', sha256: hash('sha256', content.config) };
  } catch (error) {
    // Credentials in clear text are not kept with the run, and then the document is not either.
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

async function filesOf(
  { run_id: id, finished_at: endedAt }: RunRecord,
  { filesOf: listFiles, jobs }: RunReceiptServices,
  signal: AbortSignal,
): Promise<readonly ReceiptFile[]> {
  const known = await listFiles(id);
  const plain = known.map(({ path, row, dataset_uri }) => ({ path, row, dataset_uri }));
  const readable = plain.filter((_, index) => isReadable(known[index]));
  if (readable.length === 0) return plain.map((file, index) => missing(file, known[index]));
  const request = {
    kind: 'receipt_files' as const,
    files: readable,
    ended_at: endedAt,
    most_bytes: MOST_BYTES,
  };
  const described = await jobs
    .run(receiptFilesJob, request, { signal })
    .then(({ files }) => new Map(files.map((file) => [file.path, file])))
    .catch((error: unknown) => {
      signal.throwIfAborted();
      const note = `not read: ${messageOf(error)}`;
      return new Map(readable.map((file) => [file.path, { ...file, note }]));
    });
  return plain.map((file, index) => described.get(file.path) ?? missing(file, known[index]));
}

function isReadable(file: RunFile | undefined): boolean {
  return file !== undefined && file.isHere && !file.isDeleted;
}

function missing(file: FileToDescribe, known: RunFile | undefined): ReceiptFile {
  const note = known?.isDeleted === true ? 'collected' : 'on the machine of another server';
  return { ...file, note };
}
