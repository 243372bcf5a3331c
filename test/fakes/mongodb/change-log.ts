/**
 * The changes of the fake in their order, and streams of them. An event is what differs between the
 * data before and after a command or a transaction; a position is a place in the list of events.
 */
import { Int32, Long, Timestamp, type Document } from 'mongodb';
import { CommandError } from './command-error.ts';
import { matches, projected, textOf } from './match.ts';
import type { Collection, Data } from './store.ts';

const FIRST_SECOND = 1_700_000_000;
const FIRST_BATCH = 101;
const [HISTORY_LOST, INVALID_TOKEN, FATAL, NO_IMAGE] = [286, 260, 280, 47];

interface Change {
  readonly event: Document;
  readonly before?: Document;
  readonly after?: Document;
}

interface Stream {
  /** The place in the list of the next event. */
  at: number;
  readonly options: Document;
  readonly stages: readonly Document[];
  /** `db` or `db.collection`; all of the deployment without. */
  readonly ns: string | undefined;
  /** What comes before the event at `at`: the end of the stream. */
  ends: boolean;
  /** The token with which it was asked for. */
  readonly given: { readonly at: number; readonly token: Document } | undefined;
}

export class ChangeLog {
  readonly #changes: Change[] = [];
  readonly #streams = new Map<string, Stream>();
  readonly #waiting = new Set<() => void>();
  #first = 0;
  #last = 0;
  /** The second of the next changes. */
  seconds = FIRST_SECOND;

  get open(): number {
    return this.#streams.size;
  }

  /** How many events were recorded. */
  get count(): number {
    return this.#changes.length;
  }

  /** As a server whose log has become too long. */
  forget(): void {
    this.#first = this.#changes.length;
  }

  record(before: Data, after: Data, command: Document): void {
    const clusterTime = new Timestamp({ t: this.seconds, i: this.#changes.length + 1 });
    for (const change of differences(before, after, command))
      this.#changes.push({ ...change, event: { clusterTime, ...change.event } });
    for (const wake of this.#waiting) wake();
  }

  aggregate(command: Document, data: Data): Document {
    const [first, ...stages] = command['pipeline'] as Document[];
    const options = first?.['$changeStream'] as Document;
    const { $db, aggregate } = command;
    const ns = aggregate === 1 || Number(aggregate) === 1 ? String($db) : `${$db}.${aggregate}`;
    const isAll = options['allChangesForCluster'] === true;
    const start = this.#start(options);
    const token = (options['resumeAfter'] ?? options['startAfter']) as Document | undefined;
    const given = token === undefined ? undefined : { at: start.at, token };
    const stream = { ...start, options, stages, ns: isAll ? undefined : ns, given };
    this.#last += 1;
    const id = String(this.#last);
    this.#streams.set(id, stream);
    const size = Number(command['cursor']?.batchSize ?? FIRST_BATCH);
    return this.#answer(id, 'firstBatch', this.#take(stream, size, data));
  }

  has(id: unknown): boolean {
    return this.#streams.has(String(id));
  }

  kill(ids: readonly unknown[]): void {
    for (const id of ids) this.#streams.delete(String(id));
    for (const wake of this.#waiting) wake();
  }

  /** Waits for a change as long as it is told to. */
  async more({ getMore, batchSize, maxTimeMS }: Document, data: () => Data): Promise<Document> {
    const id = String(getMore);
    const size = Number(batchSize ?? Infinity);
    const over = Date.now() + Number(maxTimeMS ?? 1000);
    for (;;) {
      const stream = this.#streams.get(id);
      if (stream === undefined) throw new CommandError(43, `cursor id ${id} not found`);
      const batch = this.#take(stream, size, data());
      const leftMs = over - Date.now();
      if (batch.length > 0 || leftMs <= 0) return this.#answer(id, 'nextBatch', batch);
      await this.#change(leftMs);
    }
  }

  async #change(leftMs: number): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#waiting.add(woken.resolve);
    const timer = setTimeout(woken.resolve, leftMs);
    await woken.promise;
    clearTimeout(timer);
    this.#waiting.delete(woken.resolve);
  }

  #answer(id: string, name: 'firstBatch' | 'nextBatch', batch: readonly Document[]): Document {
    const stream = this.#streams.get(id) as Stream;
    const hasEnded = batch.at(-1)?.['operationType'] === 'invalidate' || stream.at === Infinity;
    if (hasEnded) this.#streams.delete(id);
    const postBatchResumeToken = hasEnded ? batch.at(-1)?.['_id'] : markOf(stream);
    return {
      cursor: {
        [name]: batch,
        ns:
          stream.ns?.includes('.') === true ? stream.ns : `${stream.ns ?? 'admin'}.$cmd.aggregate`,
        id: hasEnded ? Long.ZERO : Long.fromString(id),
        ...(postBatchResumeToken === undefined ? {} : { postBatchResumeToken }),
      },
      operationTime: new Timestamp({ t: this.seconds, i: this.#changes.length }),
    };
  }

  #start(options: Document): Pick<Stream, 'at' | 'ends'> {
    const { resumeAfter, startAfter, startAtOperationTime: time } = options;
    const token = (resumeAfter ?? startAfter) as Document | undefined;
    if (token !== undefined) return this.#behind(token, startAfter !== undefined);
    if (time === undefined) return { at: this.#changes.length, ends: false };
    const from = this.#changes.findIndex(
      ({ event }) => (event['clusterTime'] as Timestamp).comp(time as Timestamp) >= 0,
    );
    const at = from === -1 ? this.#changes.length : from;
    const isOld = (time as Timestamp).t < FIRST_SECOND || at < this.#first;
    if (isOld && this.#first > 0) throw lost();
    return { at, ends: false };
  }

  #behind(token: Document, isNew: boolean): Pick<Stream, 'at' | 'ends'> {
    const [, digits, kind] = /^82([0-9A-F]{8})(\d\d)$/.exec(String(token['_data'])) ?? [];
    if (digits === undefined)
      throw new CommandError(INVALID_TOKEN, 'the resume token is not valid');
    const at = Number.parseInt(digits, 16);
    if (at < this.#first) throw lost();
    if (kind === KINDS.invalidate && !isNew)
      throw new CommandError(
        INVALID_TOKEN,
        "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.",
      );
    return { at, ends: kind === KINDS.event };
  }

  /** At most so many events, through the stages of the stream. */
  #take(stream: Stream, size: number, data: Data): Document[] {
    const batch: Document[] = [];
    while (batch.length < size && stream.at <= this.#changes.length) {
      const last = this.#changes[stream.at - 1];
      if (stream.ends && last !== undefined && invalidates(last.event, stream.ns)) {
        const { clusterTime } = last.event;
        const _id = tokenOf(stream.at, 'invalidate');
        stream.ends = false;
        stream.at = Infinity;
        batch.push(...staged({ _id, operationType: 'invalidate', clusterTime }, stream.stages));
        break;
      }
      const change = this.#changes[stream.at];
      if (change === undefined) break;
      stream.at += 1;
      stream.ends = true;
      if (!concerns(change.event, stream.ns)) continue;
      const event = { _id: tokenOf(stream.at, 'event'), ...withImages(change, stream, data) };
      batch.push(...staged(event, stream.stages));
    }
    return batch;
  }
}

const KINDS = { mark: '00', event: '01', invalidate: '02' } as const;

/** Like those of the server: a text that says where, and whether it is that of an event. */
function tokenOf(at: number, kind: keyof typeof KINDS): Document {
  const digits = at.toString(16).toUpperCase().padStart(8, '0');
  return { _data: `82${digits}${KINDS[kind]}` };
}

/** A stream that has moved on nowhere is where it was asked to begin. */
function markOf({ at, given }: Stream): Document {
  return given?.at === at ? given.token : tokenOf(at, 'mark');
}

function lost(): CommandError {
  return new CommandError(
    HISTORY_LOST,
    'Resume of change stream was not possible, as the resume point may no longer be in the oplog.',
  );
}

function concerns({ ns }: Document, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const { db, coll } = ns as Document;
  return wanted.includes('.') ? coll === undefined || `${db}.${coll}` === wanted : db === wanted;
}

function invalidates({ operationType: type, ns }: Document, wanted: string | undefined): boolean {
  if (wanted === undefined || !concerns({ ns }, wanted)) return false;
  return type === 'dropDatabase' || (wanted.includes('.') && /^(?:drop|rename)$/.test(type));
}

function withImages({ event, before, after }: Change, { options }: Stream, data: Data): Document {
  const { fullDocument: full = 'default', fullDocumentBeforeChange: old = 'off' } = options;
  const { ns, documentKey: key, operationType: type } = event;
  const collection = data.get(`${ns.db}.${ns.coll}`);
  const isKept = collection?.options['changeStreamPreAndPostImages']?.enabled === true;
  const images: Document = {};
  if (type === 'insert' || type === 'replace') images['fullDocument'] = after;
  if (type === 'update' && full !== 'default') {
    if (full === 'required' && !isKept) throw noImage('post');
    images['fullDocument'] =
      full === 'updateLookup' ? lookedUp(collection, key as Document) : isKept ? after : null;
  }
  if (type !== 'insert' && key !== undefined && old !== 'off') {
    if (old === 'required' && !isKept) throw noImage('pre');
    images['fullDocumentBeforeChange'] = isKept ? before : null;
  }
  return { ...event, ...images };
}

function noImage(which: string): CommandError {
  const what = `Change stream was configured to require a ${which}-image for all update events`;
  return new CommandError(NO_IMAGE, what);
}

function lookedUp(collection: Collection | undefined, { _id: id }: Document): Document | null {
  return collection?.documents.find((one) => textOf(one['_id']) === textOf(id)) ?? null;
}

function staged(event: Document, stages: readonly Document[]): Document[] {
  let found = [event];
  for (const stage of stages) {
    const [name = ''] = Object.keys(stage);
    if (name === '$match') found = found.filter((one) => matches(one, stage[name] as Document));
    else if (name === '$project')
      found = found.map((one) => projected(one, stage[name] as Document));
    else throw new CommandError(40_324, `Unrecognized pipeline stage name: '${name}'`);
  }
  if (found.some(({ _id: id }) => id === undefined))
    throw new CommandError(FATAL, 'Encountered an event whose _id field was modified');
  return found;
}

function* differences(before: Data, after: Data, command: Document): Generator<Change> {
  const isReplaced = (command['updates'] as Document[] | undefined)?.every(
    ({ u }) => !Object.keys(u as Document)[0]?.startsWith('$'),
  );
  const { renameCollection: from, to, dropDatabase, $db } = command;
  for (const [ns, { documents }] of after) {
    const old = before.get(String(ns === to ? from : ns));
    if (old?.documents !== documents) yield* changed(ns, old, documents, isReplaced === true);
  }
  for (const ns of before.keys()) {
    if (after.has(ns)) continue;
    const event = { ns: namespace(ns) };
    if (ns === from)
      yield { event: { operationType: 'rename', ...event, to: namespace(String(to)) } };
    else yield { event: { operationType: 'drop', ...event } };
  }
  if (dropDatabase !== undefined)
    yield { event: { operationType: 'dropDatabase', ns: { db: $db as unknown } } };
}

function namespace(ns: string): Document {
  const dot = ns.indexOf('.');
  return { db: ns.slice(0, dot), coll: ns.slice(dot + 1) };
}

// oxlint-disable-next-line max-params
function* changed(
  ns: string,
  old: Collection | undefined,
  documents: readonly Document[],
  isReplaced: boolean,
): Generator<Change> {
  const earlier = new Map((old?.documents ?? []).map((one) => [textOf(one['_id']), one]));
  const later = new Set(documents.map((one) => textOf(one['_id'])));
  const told = (operationType: string, { _id }: Document): Document => ({
    operationType,
    ns: namespace(ns),
    documentKey: { _id: _id as unknown },
  });
  for (const [id, before] of earlier)
    if (!later.has(id)) yield { event: told('delete', before), before };
  for (const after of documents) {
    const before = earlier.get(textOf(after['_id']));
    if (before === after) continue;
    if (before === undefined) yield { event: told('insert', after), after };
    else if (isReplaced) yield { event: told('replace', after), before, after };
    else
      yield {
        event: { ...told('update', after), updateDescription: descriptionOf(before, after) },
        before,
        after,
      };
  }
}

function descriptionOf(before: Document, after: Document): Document {
  const updated = Object.entries(after).filter(
    ([name, value]) => !(name in before) || textOf(before[name]) !== textOf(value),
  );
  return {
    updatedFields: Object.fromEntries(updated),
    removedFields: Object.keys(before).filter((name) => !(name in after)),
    truncatedArrays: [],
  };
}

/** The first entry of the log, as members of a replica set show it. */
export function oplogEntry(): Document {
  return { ts: new Timestamp({ t: FIRST_SECOND - 1, i: 1 }), v: new Int32(2) };
}
