/** Appends rows by `tabledata.insertAll`, which says of each row whether it was taken. */
import { createHash, randomUUID } from 'node:crypto';
import { ConnectorError } from '../../../lib/errors.ts';
import {
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { errorProto, isMissing, type ErrorProto } from '../errors.ts';
import type { Link } from '../link.ts';

/** Of a request; BigQuery takes 10 MB. */
export const REQUEST_BYTES = 9_500_000;
const ID_LETTERS = 128;

export interface StreamRow {
  readonly insertId: string;
  readonly json: JsonObject;
}

export interface Streaming {
  /** The dataset and table, as they stand in the path of a request. */
  readonly path: string;
  readonly table: string;
  /** Rows of a request; 0: all. */
  readonly most: number;
  /** Whether rows that are refused are told, while the others are written. */
  readonly partial: boolean;
  /** Whether the table or one of its columns was made a moment ago. */
  readonly isFresh: () => boolean;
}

export interface Refused {
  /** Among the rows that were given. */
  readonly index: number;
  readonly message: string;
}

/** The value of a field tells repeated records apart; else every row is one of its own. */
export function insertIdOf(value: string | undefined): string {
  if (value === undefined) return randomUUID();
  if (value.length <= ID_LETTERS) return value;
  return createHash('sha256').update(value).digest('hex');
}

/**
 * The rows that were refused. Without `partial` a row that is refused fails the page; requests before
 * may have been written.
 */
export async function streamRows(
  link: Link,
  rows: readonly StreamRow[],
  streaming: Streaming,
): Promise<Refused[]> {
  const refused: Refused[] = [];
  for (const chunk of chunksOf(rows, streaming.most)) {
    if (chunk.isTooLarge) {
      const message = `the record has more than ${REQUEST_BYTES} bytes, which no request holds`;
      if (!streaming.partial) throw rowError(chunk.from, message);
      refused.push({ index: chunk.from, message });
      continue;
    }
    refused.push(...(await sendChunk(link, rows, { ...streaming, ...chunk })));
  }
  return refused;
}

interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly isTooLarge?: true;
}

function* chunksOf(rows: readonly StreamRow[], most: number): Generator<Chunk> {
  let [from, bytes] = [0, 0];
  for (const [at, row] of rows.entries()) {
    const size = Buffer.byteLength(stringifyJson({ ...row })) + 1;
    if (size > REQUEST_BYTES) {
      if (at > from) yield { from, to: at };
      yield { from: at, to: at + 1, isTooLarge: true };
      [from, bytes] = [at + 1, 0];
      continue;
    }
    const isFull = at > from && (bytes + size > REQUEST_BYTES || at - from === most);
    if (isFull && most === 0) throw tooLarge();
    if (isFull) yield { from, to: at };
    if (isFull) [from, bytes] = [at, 0];
    bytes += size;
  }
  if (from < rows.length) yield { from, to: rows.length };
}

function tooLarge(): ConnectorError {
  return new ConnectorError('data', 'the page does not fit into one request of 10 MB', {
    hint: 'set `batch_size`: pages are then cut into several requests',
  });
}

type Sending = Streaming & Chunk;

async function sendChunk(
  link: Link,
  rows: readonly StreamRow[],
  sending: Sending,
): Promise<Refused[]> {
  const { partial } = sending;
  const refused: Refused[] = [];
  const pause = pauses(link, sending);
  let open = Array.from({ length: sending.to - sending.from }, (_, at) => sending.from + at);
  while (open.length > 0) {
    const errors = await send(
      link,
      open.map((at) => rows[at] as StreamRow),
      sending,
    ).catch((error: unknown) => {
      if (isMissing(error) && pause.isPossible()) return undefined;
      throw error;
    });
    if (errors === undefined) {
      await pause.wait();
      continue;
    }
    const { faults, isUnknown } = sorted(errors, pause.isPossible());
    const found = faults.map(({ place, message }) => ({ index: open[place] ?? 0, message }));
    const [first] = found;
    if (!partial && first !== undefined) throw rowError(first.index, first.message);
    refused.push(...found);
    if (errors.size === 0) break;
    const again = open.filter((_, place) => errors.has(place) && !isFault(faults, place));
    if (isUnknown) await pause.wait();
    else if (again.length === open.length)
      throw new ConnectorError('data', 'BigQuery takes none of the rows, and does not say why');
    // Nothing of a request with a bad row is written, unless such rows are skipped.
    if (partial) open = again;
  }
  return refused;
}

interface Fault {
  /** Among the rows of the request. */
  readonly place: number;
  readonly message: string;
}

function isFault(faults: readonly Fault[], place: number): boolean {
  return faults.some((fault) => fault.place === place);
}

/** Rows that are refused for good; others were stopped by them, or have a column that is new. */
function sorted(
  errors: RowErrors,
  mayBeNew: boolean,
): { readonly faults: readonly Fault[]; readonly isUnknown: boolean } {
  const faults: Fault[] = [];
  let isUnknown = false;
  for (const [place, told] of errors) {
    const why = told.find(({ reason }) => reason !== 'stopped');
    if (why === undefined) continue;
    if (mayBeNew && NEW_COLUMN.test(why.message)) isUnknown = true;
    else faults.push({ place, message: messageOf(why) });
  }
  return { faults: faults.sort((a, b) => a.place - b.place), isUnknown };
}

const NEW_COLUMN = /^no such field/i;

function messageOf({ message, location, reason }: ErrorProto): string {
  const text = message === '' ? reason : message;
  return location === '' ? text : `${text} (at \`${location}\`)`;
}

function rowError(index: number, message: string): ConnectorError {
  return new ConnectorError('data', `BigQuery refuses a record: ${message}`, {
    record: index,
    hint: 'repair the records, or configure a `dlq` that receives them',
  });
}

type RowErrors = ReadonlyMap<number, readonly ErrorProto[]>;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;
/** So long it may take until the service that streams knows of a new table or column. */
const LONGEST_MS = 600_000;

/** Pauses before a request about a table that was made or changed a moment ago is sent again. */
function pauses(
  { context: { env, signal } }: Link,
  { isFresh, table }: Streaming,
): { isPossible(this: void): boolean; wait(this: void): Promise<void> } {
  let waited = 0;
  let pause = FIRST_PAUSE_MS;
  return {
    isPossible: () => isFresh() && waited < LONGEST_MS,
    async wait() {
      env.log.info('BigQuery does not know a new table or column yet; the rows are sent again', {
        table,
        wait_ms: pause,
      });
      await env.clock.sleep(pause, signal);
      signal.throwIfAborted();
      waited += pause;
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    },
  };
}

async function send(
  link: Link,
  rows: readonly StreamRow[],
  { path, partial }: Streaming,
): Promise<RowErrors> {
  const answer = await link.ask('adding rows', {
    method: 'POST',
    path: `${path}/insertAll`,
    body: {
      skipInvalidRows: partial,
      ignoreUnknownValues: false,
      rows: rows.map(({ insertId, json }) => ({ insertId, json })),
    },
  });
  const { insertErrors } = answer;
  const found = new Map<number, ErrorProto[]>();
  for (const one of Array.isArray(insertErrors) ? insertErrors : []) {
    const { index, errors } = isObject(one) ? one : {};
    found.set(Number(index ?? 0), protosIn(errors, link));
  }
  return found;
}

function protosIn(errors: JsonValue | undefined, { context }: Link): ErrorProto[] {
  return (Array.isArray(errors) ? errors : []).map((error) =>
    errorProto(error, context.env.redactor),
  );
}
