/**
 * Reads queues of dead letters line by line. Every line is reported, also one that is not a dead
 * letter, and memory stays bounded.
 */
import { hash } from 'node:crypto';
import { isObject, parseData, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { openRegular } from '../../lib/files/regular-file.ts';
import { isEncrypted, decrypt } from '../../lib/crypto/encryption.ts';
import { payloadSchema, spelledPayload, storedPayload } from '../../engine/dlq/payload-types.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { DeadReason } from '../../wire/dead-reasons.ts';
import { causeOf } from './cause.ts';

/** What an envelope says; what it does not say, or says in another type, is null. */
export interface DeadLetter {
  readonly reason: string | null;
  readonly errorKind: string | null;
  readonly errorMessage: string | null;
  readonly pipeline: string | null;
  readonly row: string | null;
  readonly recordIndex: number | null;
  readonly tsMs: number | null;
  readonly payload: JsonValue;
  /** The file in which it stood, where the source could not read it. */
  readonly input: string | null;
  /** Types of fields of the payload. */
  readonly schema: RecordSchema | undefined;
}

export type Line =
  | { readonly kind: 'dead_letter'; readonly deadLetter: DeadLetter; readonly bytes: Buffer }
  /** Not JSON; JSON without a payload; encrypted with an unknown key; only white space. */
  | {
      readonly kind: 'malformed' | 'non_envelope' | 'undecryptable' | 'blank';
      readonly bytes: Buffer;
    };

/** What every line of a queue that is a dead letter has. */
export type LetterLine = Extract<Line, { readonly kind: 'dead_letter' }>;

export interface DeadLetterFilter {
  /** Dead letters without a reason match none. */
  readonly reason?: DeadReason | undefined;
  /** Strictly older than this, in epoch milliseconds; dead letters without a time match none. */
  readonly beforeMs?: number | undefined;
  /** The id of a cause. */
  readonly cause?: string | undefined;
  /** The id of one dead letter. */
  readonly letter?: string | undefined;
}

export function isWanted({ deadLetter, bytes }: LetterLine, filter: DeadLetterFilter): boolean {
  const { reason, tsMs } = deadLetter;
  if (filter.reason !== undefined && reason !== filter.reason) return false;
  if (filter.cause !== undefined && causeOf(deadLetter).id !== filter.cause) return false;
  if (filter.letter !== undefined && letterIdOf(bytes) !== filter.letter) return false;
  return filter.beforeMs === undefined || (tsMs !== null && tsMs < filter.beforeMs);
}

const LINE_FEED = 10;

/** A line that does not end within this many bytes is refused: the file is no queue. */
const MAX_LINE_BYTES = 128 * 1024 * 1024;

/**
 * The lines of a file from a byte on. `bytes` are those of the file, with the line end when there
 * is one.
 */
export async function* linesOf(
  file: string,
  keys: readonly string[],
  start = 0,
): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let held = 0;
  for await (const block of blocksOf(file, start)) {
    let from = 0;
    for (let end = block.indexOf(LINE_FEED); end !== -1; end = block.indexOf(LINE_FEED, from)) {
      const bytes = Buffer.concat([...parts, block.subarray(from, end + 1)]);
      parts = [];
      held = 0;
      from = end + 1;
      yield lineOf(bytes, keys);
    }
    parts.push(block.subarray(from));
    held += block.length - from;
    if (held > MAX_LINE_BYTES)
      throw unreadable(file, `a line does not end within ${MAX_LINE_BYTES} bytes`);
  }
  const last = Buffer.concat(parts);
  if (last.length > 0) yield lineOf(last, keys);
}

async function* blocksOf(file: string, start: number): AsyncGenerator<Buffer> {
  try {
    await using opened = await openRegular(file);
    // A replay may append to the file that it reads: only what is there now is read.
    const { size } = await opened.stat();
    if (size <= start) return;
    const blocks = opened.createReadStream({ start, end: size - 1, autoClose: false });
    let isFirst = start === 0;
    for await (const block of blocks) {
      if (isFirst) refuseOtherFormat(file, block as Buffer);
      isFirst = false;
      yield block as Buffer;
    }
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    throw unreadable(file, messageOf(error), error);
  }
}

/** Its lines would be counted as ones that are no dead letters, as if there were none. */
function refuseOtherFormat(file: string, block: Buffer): void {
  const beginsWith = ([, begin]: readonly [string, Buffer]): boolean =>
    block.subarray(0, begin.length).equals(begin);
  const how = Object.entries(COMPRESSED).find(beginsWith)?.[0];
  if (how !== undefined)
    throw new RefusedError('bad_config', `${file} is compressed with ${how}`, {
      hint: `unpack it (\`${how} -d\`), and name the file that this gives`,
    });
  const what = Object.entries(OTHER_FORMATS).find(beginsWith)?.[0];
  if (what === undefined) return;
  throw new RefusedError('bad_config', `${file} is ${what}, and no file of JSON Lines`, {
    hint: COPY_TO_LINES,
  });
}

/** For dead letters that a sink wrote in another format than JSON Lines. */
export const COPY_TO_LINES =
  'copy the dead letters with a document whose sink is `jsonl`, and name the file that this gives; or let the `dlq` write `jsonl`';

const COMPRESSED = {
  gzip: Buffer.of(0x1f, 0x8b),
  zstd: Buffer.of(0x28, 0xb5, 0x2f, 0xfd),
};

const OTHER_FORMATS = {
  'an Avro file': Buffer.from('Obj\x01'),
  'a Parquet file': Buffer.from('PAR1'),
  'an ORC file': Buffer.from('ORC'),
  'a SQLite database': Buffer.from('SQLite format 3\0'),
  'an Excel file': Buffer.from('PK\x03\x04'),
};

function unreadable(file: string, why: string, cause?: unknown): RefusedError {
  return new RefusedError('bad_config', `${file} cannot be read: ${why}`, { cause });
}

function lineOf(bytes: Buffer, keys: readonly string[]): Line {
  const line = bytes.toString('utf8').trim();
  if (line === '') return { kind: 'blank', bytes };
  const opened = decrypted(line, keys);
  if (opened === undefined) return { kind: 'undecryptable', bytes };
  try {
    const value = parseData(opened);
    if (!isObject(value) || value['payload'] === undefined) return { kind: 'non_envelope', bytes };
    const deadLetter = deadLetterOf(value, value['payload']);
    return deadLetter === undefined
      ? { kind: 'malformed', bytes }
      : { kind: 'dead_letter', deadLetter, bytes };
  } catch {
    return { kind: 'malformed', bytes };
  }
}

/** The text of a line, decrypted when it is encrypted; `undefined` when no key fits. */
function decrypted(line: string, keys: readonly string[]): string | undefined {
  if (line.startsWith('{')) return line;
  const bytes = Buffer.from(line, 'base64');
  if (!isEncrypted(bytes)) return line;
  try {
    return Buffer.from(decrypt(keys, bytes)).toString('utf8');
  } catch {
    return undefined;
  }
}

/** `undefined` when its types cannot be read: its values would be taken for others. */
function deadLetterOf(envelope: JsonObject, payload: JsonValue): DeadLetter | undefined {
  const error = isObject(envelope['error']) ? envelope['error'] : {};
  const position = isObject(envelope['position']) ? envelope['position'] : {};
  const schema = payloadSchema(envelope);
  if (schema === 'unreadable') return undefined;
  return {
    reason: text(envelope['reason']),
    errorKind: text(error['kind']),
    errorMessage: text(error['message']),
    pipeline: text(envelope['pipeline']),
    row: text(envelope['row']),
    recordIndex: number(envelope['record_index']),
    tsMs: number(envelope['ts_ms']),
    payload: storedPayload(spelledPayload(payload, envelope['spellings']), envelope['stored']),
    input: text(position['input']),
    schema,
  };
}

/** Of its line, so that it stays the same when others are taken out of the queue. */
export function letterIdOf(bytes: Buffer): string {
  return hash('sha256', bytes.toString('utf8').trim()).slice(0, 16);
}

function text(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function number(value: JsonValue | undefined): number | null {
  return typeof value === 'number' ? value : null;
}
