/** Changes of a page, sent together, and what the server says of each. */
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import { excerptOf } from '../../../lib/text/excerpt.ts';
import {
  isObject,
  jsonText,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import type { PartContext } from '../../../kit/context.ts';
import type { Rejection } from '../../../kit/sink.ts';
import { waitBeforeRetry } from '../../_http/retry.ts';
import { step, type Link } from '../link.ts';

const MOST_BYTES = 8 * 1024 * 1024;
const LONGEST_ID_BYTES = 512;

export interface Change {
  /** Of its record in the page. */
  readonly index: number;
  readonly op: 'index' | 'delete';
  /** The server makes one where it is missing. */
  readonly id?: string | undefined;
  readonly document?: JsonValue;
}

export interface Bulk {
  readonly link: Link;
  readonly index: string;
  readonly context: Pick<PartContext, 'env' | 'signal'>;
  /** Changes that are sent together at most; 0: all. */
  readonly most: number;
}

/** One value is the id as text; several are the JSON of their list. */
export function idOf(
  record: { readonly [name: string]: JsonValue | undefined },
  key: readonly string[],
): string {
  const values = key.map((name) => record[name] ?? null);
  const [only = null] = values;
  return values.length === 1 ? jsonText(only) : stringifyJson(values);
}

export function refusedId(id: string): RecordError | undefined {
  const bytes = Buffer.byteLength(id);
  if (bytes > 0 && bytes <= LONGEST_ID_BYTES) return undefined;
  const why = bytes === 0 ? 'is empty' : `has ${bytes} bytes, and ${LONGEST_ID_BYTES} are the most`;
  return new RecordError('Sink', `the \`_id\` of the document ${why}`);
}

/** Gives the records that the server refuses, and throws where it takes none for now. */
export async function sendChanges(bulk: Bulk, changes: readonly Change[]): Promise<Rejection[]> {
  const rejected: Rejection[] = [];
  for (const some of inParts(changes, bulk.most)) rejected.push(...(await sendPart(bulk, some)));
  return rejected;
}

interface Part {
  readonly changes: readonly Change[];
  readonly lines: string;
}

function* inParts(changes: readonly Change[], most: number): Generator<Part> {
  let [some, lines, bytes]: [Change[], string[], number] = [[], [], 0];
  for (const change of changes) {
    const text = linesOf(change);
    const size = Buffer.byteLength(text);
    if (some.length > 0 && (some.length === most || bytes + size > MOST_BYTES)) {
      yield { changes: some, lines: lines.join('') };
      [some, lines, bytes] = [[], [], 0];
    }
    some.push(change);
    lines.push(text);
    bytes += size;
  }
  if (some.length > 0) yield { changes: some, lines: lines.join('') };
}

function linesOf({ op, id, document }: Change): string {
  const action = `${stringifyJson({ [op]: id === undefined ? {} : { _id: id } })}\n`;
  return op === 'delete' ? action : `${action}${stringifyJson(document ?? null)}\n`;
}

/** Changes that the server has no room for now are sent again; the others of the part are done. */
async function sendPart(bulk: Bulk, part: Part): Promise<Rejection[]> {
  const { link, index, context } = bulk;
  const { clock } = context.env;
  const rejected: Rejection[] = [];
  let left = part;
  for (let attempt = 0; ; attempt += 1) {
    const path = `${step(index)}/_bulk`;
    const isRepeatable = left.changes.every(({ id }) => id !== undefined);
    const answer = await link.ask({ method: 'POST', path, lines: left.lines, isRepeatable });
    const busy: Change[] = [];
    for (const [at, outcome] of outcomesOf(answer, left.changes.length).entries()) {
      const change = left.changes[at] as Change;
      if (isDone(change, outcome)) continue;
      if (outcome.status === 429 || outcome.status === 503) busy.push(change);
      else rejected.push(rejection(change, outcome, context));
    }
    if (busy.length === 0) return rejected;
    const full = new ConnectorError(
      'rate_limited',
      `the server has no room for ${busy.length} records`,
      { hint: 'lower `batch_size`, or raise `resilience.retry.max_attempts`' },
    );
    const waitMs = waitBeforeRetry(full, attempt, link.retry);
    if (waitMs === undefined) throw full;
    await clock.sleep(waitMs, context.signal);
    context.signal.throwIfAborted();
    left = { changes: busy, lines: busy.map(linesOf).join('') };
  }
}

interface Outcome {
  readonly status: number;
  readonly error: JsonValue;
}

function outcomesOf(answer: JsonObject, count: number): Outcome[] {
  const { items = null } = answer;
  if (!Array.isArray(items) || items.length !== count)
    throw new ConnectorError('data', 'the answer of the server does not tell of each record', {
      hint: 'check `base_url`',
    });
  return items.map((item) => {
    const [outcome = null] = isObject(item) ? Object.values(item) : [];
    const { status = 0, error = null } = isObject(outcome) ? outcome : {};
    return { status: Number(status), error };
  });
}

/** What is not there need not be deleted. */
function isDone({ op }: Change, { status }: Outcome): boolean {
  return (status >= 200 && status < 300) || (op === 'delete' && status === 404);
}

function rejection(
  change: Change,
  { status, error }: Outcome,
  { env }: Bulk['context'],
): Rejection {
  const said = isObject(error) ? [error['type'] ?? null, error['reason'] ?? null] : [error];
  const text = said
    .filter((one) => one !== null)
    .map(jsonText)
    .join(': ');
  const reason = text === '' ? `the server answers ${status}` : excerptOf(text, env.redactor);
  return { index: change.index, error: new RecordError('Sink', reason) };
}
