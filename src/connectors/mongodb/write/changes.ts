/** What a page changes in a collection, and how it is sent. */
import {
  BSON,
  MongoBulkWriteError,
  MongoServerError,
  type AnyBulkWriteOperation,
  type ClientSession,
  type Collection,
  type Document,
} from 'mongodb';
import { messageOf, RecordError } from '../../../lib/errors.ts';
import { excerpt, isPassing } from '../../../lib/mongodb/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { Rejection } from '../../../kit/sink.ts';
import { planKeyedPage, type KeyedSpec } from '../../../kit/write-spec.ts';
import { documentWriter, type DocumentWriter, type Fields } from './documents.ts';

export interface Change {
  /** Of its record in the page. */
  readonly index: number;
  readonly model: AnyBulkWriteOperation;
}

export interface PageChanges {
  readonly changes: readonly Change[];
  /** Records that cannot be sent. */
  readonly rejected: readonly Rejection[];
  readonly rounded: ReadonlyMap<string, number>;
}

/** Without `spec` the records are added. */
export function changesOf(
  records: readonly JsonValue[],
  schema: RecordSchema | undefined,
  spec: KeyedSpec | undefined,
): PageChanges {
  const writer = documentWriter(schema);
  const changes: Change[] = [];
  const rejected: Rejection[] = [];
  const add = (index: number, make: () => AnyBulkWriteOperation): void => {
    try {
      changes.push({ index, model: make() });
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      rejected.push({ index, error });
    }
  };
  if (spec === undefined) {
    for (const [index, record] of records.entries()) add(index, () => insertOf(record, writer));
    return { changes, rejected, rounded: writer.rounded };
  }
  const plan = planKeyedPage(records, spec);
  for (const { index, record } of plan.deletes)
    add(index, () => ({ deleteOne: { filter: keyFilter(record, spec, writer) } }));
  for (const { index, record } of plan.upserts) add(index, () => replaceOf(record, spec, writer));
  return { changes, rejected: [...plan.rejected, ...rejected], rounded: writer.rounded };
}

function insertOf(record: JsonValue, writer: DocumentWriter): AnyBulkWriteOperation {
  if (!isObject(record)) throw new RecordError('Sink', 'the record is not an object');
  return { insertOne: { document: writer.document(record) } };
}

function replaceOf(
  record: JsonObject,
  spec: KeyedSpec,
  writer: DocumentWriter,
): AnyBulkWriteOperation {
  const operator = Object.keys(record).find((name) => name.startsWith('$'));
  if (operator !== undefined)
    throw new RecordError('Sink', `\`${operator}\` is no name for a field of a replaced document`);
  const replacement = writer.document(record);
  return { replaceOne: { filter: keyFilter(record, spec, writer), replacement, upsert: true } };
}

/** Values are compared and never taken for operators. */
function keyFilter(record: JsonObject, { key }: KeyedSpec, writer: DocumentWriter): Document {
  const filter: Fields = {};
  for (const name of key) filter[name] = { $eq: writer.field(name, record[name] ?? null) };
  return filter;
}

export interface Sending {
  readonly ordered: boolean;
  /** Records that are sent together at most; 0: all. */
  readonly most: number;
  /** Whether the others are written where some are refused. */
  readonly partial: boolean;
  /** Changes of a transaction are made one after the other, and all or none. */
  readonly session?: ClientSession;
}

/** Gives the records that the server refuses. Throws where something else failed. */
export async function sendChanges(
  collection: Collection,
  changes: readonly Change[],
  sending: Sending,
): Promise<Rejection[]> {
  const size = sending.most === 0 ? changes.length : sending.most;
  const rejected: Rejection[] = [];
  for (let from = 0; from < changes.length;) {
    const some = changes.slice(from, from + size);
    const { refused, sent } = await sendSome(collection, some, sending);
    rejected.push(...refused);
    if (refused.length > 0 && !sending.partial) break;
    from += sent;
  }
  return rejected;
}

interface Sent {
  readonly refused: readonly Rejection[];
  /** Changes that need not be sent again. */
  readonly sent: number;
}

async function sendSome(
  collection: Collection,
  changes: readonly Change[],
  sending: Sending,
): Promise<Sent> {
  const { session } = sending;
  const ordered = sending.ordered || session !== undefined;
  try {
    await collection.bulkWrite(
      changes.map(({ model }) => model),
      { ordered, ...(session === undefined ? {} : { session }) },
    );
    return { refused: [], sent: changes.length };
  } catch (error) {
    if (error instanceof MongoBulkWriteError) return refusedOf(error, changes, ordered);
    if (error instanceof MongoServerError) throw error;
    // The driver sends nothing of a batch with a document that is too large, or too deep.
    const position = changes.findIndex((change) => faultOf(change) !== undefined);
    if (position === -1) throw error;
    if (position > 0) return sendSome(collection, changes.slice(0, position), sending);
    return { refused: [rejection(changes[0], faultOf(changes[0]) ?? '')], sent: 1 };
  }
}

/** An ordered batch ends with the first record that is refused. */
function refusedOf(error: MongoBulkWriteError, changes: readonly Change[], ordered: boolean): Sent {
  const faults = [error.writeErrors].flat();
  const passing = faults.find(({ code }) => isPassing(code));
  if (passing !== undefined)
    throw new MongoServerError({ message: passing.errmsg ?? '', code: passing.code });
  if (faults.length === 0) throw error;
  const refused = faults.map((fault) => rejection(changes[fault.index], fault.errmsg ?? ''));
  return { refused, sent: ordered ? (faults[0]?.index ?? 0) + 1 : changes.length };
}

function rejection(change: Change | undefined, reason: string): Rejection {
  const error = new RecordError('Sink', reason === '' ? 'the server refuses it' : excerpt(reason));
  return { index: change?.index ?? 0, error };
}

const MOST_BYTES = 16 * 1024 * 1024;

function faultOf(change: Change | undefined): string | undefined {
  try {
    const size = BSON.calculateObjectSize(documentOf(change?.model ?? {}));
    return size > MOST_BYTES
      ? `it has ${size} bytes, and MongoDB stores at most 16 MiB`
      : undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function documentOf(model: object): Document {
  if ('insertOne' in model) return (model.insertOne as { document: Document }).document;
  if ('replaceOne' in model) return (model.replaceOne as { replacement: Document }).replacement;
  return {};
}
