/** The first rows of a file that a sink wrote, through the source of the same kind. */
import { stat } from 'node:fs/promises';
import type { StoredOutput } from '../../history/outputs.ts';
import type { SourceContext } from '../../kit/context.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { Parts } from '../../kit/parts.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import type { Env } from '../../lib/env.ts';
import { ConnectorError, messageOf, RefusedError, StopReason } from '../../lib/errors.ts';
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { OutputPreview } from '../../wire/local-outputs.ts';
import { stateOf } from './ledger.ts';

/** Both null: no bound. */
export interface PreviewLimits {
  readonly defaultRows: number | null;
  readonly maxRows: number | null;
}

export interface PreviewServices {
  readonly env: Env;
  readonly parts: Parts;
  readonly limits: PreviewLimits;
}

/** The answer is partial from here on. */
const MOST_BYTES = 64 * 1024 * 1024;
const DEADLINE_MS = 30_000;
/** A read that does not come back is given up. */
const HARD_TIMEOUT_MS = 60_000;
const PAGE_ROWS = 1000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** How a file of a kind is read; kinds that are not here have no reader. */
const READERS: Readonly<Record<string, (path: string) => JsonObject>> = {
  csv: (path) => ({ path }),
  jsonl: (path) => ({ path }),
  parquet: (path) => ({ source: { type: 'local_path', path } }),
};

/**
 * What `row_count_to_load` asks for, within the ceiling; null: everything. Throws `RefusedError`.
 */
export function rowLimitOf(
  asked: string | undefined,
  { defaultRows, maxRows }: PreviewLimits,
): number | null {
  if (asked === undefined) return least(defaultRows, maxRows);
  if (/^all$/i.test(asked) || /^0+$/.test(asked)) return maxRows;
  if (/^\d{1,15}$/.test(asked)) return least(Number(asked), maxRows);
  throw new RefusedError(
    'bad_config',
    `row_count_to_load must be a whole number or \`all\`, got ${JSON.stringify(asked)}`,
  );
}

function least(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** Throws `RefusedError` with the status the specification names for each case. */
export async function previewOutput(
  output: StoredOutput,
  rowLimit: number | null,
  services: PreviewServices,
): Promise<OutputPreview> {
  const { id, path, kind, dataset_id, pipeline, run_id } = output;
  if (output.deleted_at !== null || !(await isThere(path))) {
    throw new RefusedError(
      'conflict',
      `${path} is gone: it was collected or removed; the record of its run is kept`,
    );
  }
  if (stateOf(output) === 'external') {
    throw new RefusedError(
      'forbidden',
      `${path} was there before the service wrote to it, so it is not shown`,
    );
  }
  const { clock } = services.env;
  const started = clock.elapsedMs();
  const read = await readFirst(output, rowLimit, services);
  return {
    output_id: id,
    path,
    kind,
    dataset_id,
    pipeline,
    run_id,
    rows: read.rows,
    columns: columnsOf(read.rows),
    row_count: read.rows.length,
    row_limit: rowLimit,
    max_rows: services.limits.maxRows,
    truncated: read.cappedBy !== undefined,
    ...(read.cappedBy === undefined ? {} : { capped_by: read.cappedBy }),
    elapsed_ms: Math.round(clock.elapsedMs() - started),
  };
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

interface Read {
  readonly rows: JsonValue[];
  /** What ended it before the file did. */
  readonly cappedBy: 'rows' | 'bytes' | 'time' | undefined;
}

async function readFirst(
  { kind, path }: StoredOutput,
  rowLimit: number | null,
  { env, parts }: PreviewServices,
): Promise<Read> {
  const definition = parts.sources.get(kind);
  const config = READERS[kind]?.(path);
  if (definition === undefined || config === undefined) {
    throw new RefusedError('bad_config', `files of kind \`${kind}\` cannot be shown`, {
      hint: `kinds that can: ${Object.keys(READERS).join(', ')}`,
    });
  }
  const whole = { ...config, batch_size: PAGE_ROWS };
  const checked = check(definition.config, whole);
  if (!checked.ok) throw new Error(`cannot happen: ${JSON.stringify(checked.issues)}`);
  const leave = new AbortController();
  const context: SourceContext = {
    env,
    pipeline: 'preview',
    row: 'preview',
    invocationId: env.ids.next(),
    signal: leave.signal,
    pageBytes: PAGE_BYTES,
    credentials: {
      resolve: () => ({
        get: () => Promise.resolve({ headers: {}, query: {} }),
        invalidate: () => {},
      }),
    },
  };
  const over = new AbortController();
  const given = env.clock.sleep(HARD_TIMEOUT_MS, over.signal).then((): never => {
    throw new RefusedError(
      'unavailable',
      `reading ${path} did not come to an end within ${HARD_TIMEOUT_MS / 1000} s`,
    );
  });
  given.catch(() => {});
  const reading = definition
    .open(checked.value, context)
    .then((source) => readPages(source, rowLimit, env));
  try {
    return await Promise.race([reading, given]);
  } catch (error) {
    if (error instanceof ConnectorError)
      throw new RefusedError('unprocessable', `${path} cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    throw error;
  } finally {
    over.abort();
    leave.abort(new StopReason('cancel', 'nobody looks any more'));
  }
}

async function readPages(source: Source, rowLimit: number | null, { clock }: Env): Promise<Read> {
  const until = clock.elapsedMs() + DEADLINE_MS;
  const rows: JsonValue[] = [];
  let bytes = 0;
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      for (const record of page.records()) {
        if (rows.length === rowLimit) return { rows, cappedBy: 'rows' };
        bytes += Buffer.byteLength(stringifyJson(record)) + 1;
        if (bytes > MOST_BYTES) return { rows, cappedBy: 'bytes' };
        rows.push(record);
      }
      page.release();
      if (clock.elapsedMs() > until) return { rows, cappedBy: 'time' };
    }
    return { rows, cappedBy: undefined };
  } finally {
    await source.close();
  }
}

function columnsOf(rows: readonly JsonValue[]): string[] {
  const columns = new Set<string>();
  for (const row of rows)
    if (isObject(row)) for (const column of Object.keys(row)) columns.add(column);
  return [...columns];
}
