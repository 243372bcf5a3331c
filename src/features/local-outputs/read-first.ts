/** The first records of a file, through the source of the same kind. */
import type { SourceContext } from '../../kit/context.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import type { Env } from '../../lib/env.ts';
import { assert, ConnectorError, RefusedError } from '../../lib/errors.ts';
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { JobContext } from '../../runs/worker/define-job.ts';
import type { RequestOf } from '../../wire/job.ts';

/** A larger answer is cut off. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Characters that the server sends at once. */
const PIECE_LENGTH = 256 * 1024;
const DEADLINE_MS = 30_000;
const PAGE_ROWS = 1000;
/** A page of more rows takes too much at once. */
const LONGEST_PAGE_ROWS = 10_000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** How a file of a kind is read; kinds that are not here have no reader. */
const READERS: Readonly<Record<string, (path: string) => JsonObject>> = {
  csv: (path) => ({ path }),
  jsonl: (path) => ({ path }),
  parquet: (path) => ({ source: { type: 'local_path', path } }),
};

/** As the server sends them on: what it does not look at, it need not read. */
export interface PreviewedRecords {
  /** JSON texts of some records each, with a comma between the records. */
  readonly rows: readonly Uint8Array[];
  readonly count: number;
  /** Fields of all records, in order of appearance. */
  readonly columns: readonly string[];
  /** The limit that ended it before the end of the file. */
  readonly cappedBy: 'rows' | 'bytes' | 'time' | undefined;
}

/** Throws `RefusedError` for a kind that has no reader, and what its reader throws. */
export async function readFirst(
  { file_kind: kind, path, row_limit: rowLimit }: RequestOf<'preview'>,
  { env, parts, signal }: Pick<JobContext, 'env' | 'parts' | 'signal'>,
): Promise<PreviewedRecords> {
  const definition = parts.sources.get(kind);
  const config = READERS[kind]?.(path);
  if (definition === undefined || config === undefined) {
    throw new RefusedError('bad_config', `files of kind \`${kind}\` cannot be shown`, {
      hint: `kinds that can: ${Object.keys(READERS).join(', ')}`,
    });
  }
  const checked = check(definition.config, { ...config, batch_size: pageRows(rowLimit) });
  assert(checked.ok, `the config of the ${kind} reader is valid`);
  const context: SourceContext = {
    env,
    pipeline: 'preview',
    row: 'preview',
    invocationId: env.ids.next(),
    signal,
    pageBytes: PAGE_BYTES,
    credentials: {
      resolve: () => ({
        get: () => Promise.resolve({ headers: {}, query: {} }),
        invalidate: () => {},
      }),
    },
  };
  return readPages(await definition.open(checked.value, context), rowLimit, env);
}

/** A page ends where the preview does: a broken line behind it is not read with it. */
function pageRows(rowLimit: number | null): number {
  return rowLimit === null || rowLimit > LONGEST_PAGE_ROWS ? PAGE_ROWS : rowLimit;
}

async function readPages(
  source: Source,
  rowLimit: number | null,
  { clock }: Env,
): Promise<PreviewedRecords> {
  const until = clock.elapsedMs() + DEADLINE_MS;
  const rows = new RecordTexts();
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      for (const record of page.records()) {
        if (rows.count === rowLimit) return rows.end('rows');
        if (!rows.add(record)) return rows.end('bytes');
      }
      page.release();
      if (clock.elapsedMs() > until) return rows.end('time');
    }
    return rows.end(undefined);
  } catch (error) {
    // All that was asked for is there: something that cannot be read stands behind it.
    if (error instanceof ConnectorError && rows.count === rowLimit) return rows.end('rows');
    throw error;
  } finally {
    await source.close();
  }
}

/** Gathers records as JSON texts. */
class RecordTexts {
  readonly #pieces: Uint8Array[] = [];
  readonly #columns = new Set<string>();
  #texts: string[] = [];
  #length = 0;
  #bytes = 0;
  count = 0;

  /** False: with it there would be too many bytes. */
  add(record: JsonValue): boolean {
    const text = stringifyJson(record);
    this.#bytes += Buffer.byteLength(text) + 1;
    if (this.#bytes > MOST_BYTES) return false;
    this.count += 1;
    this.#texts.push(text);
    this.#length += text.length;
    if (this.#length > PIECE_LENGTH) this.#endPiece();
    if (isObject(record)) for (const column of Object.keys(record)) this.#columns.add(column);
    return true;
  }

  end(cappedBy: PreviewedRecords['cappedBy']): PreviewedRecords {
    this.#endPiece();
    return { rows: this.#pieces, count: this.count, columns: [...this.#columns], cappedBy };
  }

  #endPiece(): void {
    if (this.#texts.length === 0) return;
    this.#pieces.push(Buffer.from(this.#texts.join(',')));
    this.#texts = [];
    this.#length = 0;
  }
}
