/** Events of a change stream as records. */
import type { Document } from 'mongodb';
import type { RecordField, RecordSchema } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonOf } from '../../../lib/mongodb/to-json.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { DOCUMENT_TYPES, type MongodbCdcConfig } from '../config.ts';

const FIELDS: readonly RecordField[] = [
  { name: 'op', type: { kind: 'utf8' }, nullable: false },
  { name: 'namespace', type: { kind: 'json' }, nullable: true },
  { name: 'ts_ms', type: { kind: 'int64' }, nullable: false },
  { name: 'before', type: { kind: 'json' }, nullable: true },
  { name: 'after', type: { kind: 'json' }, nullable: true },
  { name: 'document_key', type: { kind: 'json' }, nullable: true },
  { name: 'update_description', type: { kind: 'json' }, nullable: true },
  { name: 'resume_token', type: { kind: 'json' }, nullable: false },
];
const DOCUMENTS_SCHEMA: RecordSchema = Object.freeze({ fields: FIELDS });
const WITH_PLACES: RecordSchema = Object.freeze({
  fields: [...FIELDS, { name: 'ddl', type: { kind: 'json' as const }, nullable: true }],
});

const OPS: Readonly<Record<string, string>> = {
  insert: 'c',
  update: 'u',
  replace: 'r',
  delete: 'd',
};

/** Whether changes of collections and databases are records, too. */
export function tellsPlaces({ operation_types: types }: MongodbCdcConfig): boolean {
  const documents: readonly string[] = DOCUMENT_TYPES;
  return types.length === 0 || types.some((type) => !documents.includes(type));
}

export function changeSchema(config: MongodbCdcConfig): RecordSchema {
  return tellsPlaces(config) ? WITH_PLACES : DOCUMENTS_SCHEMA;
}

export interface Event {
  readonly type: string;
  readonly token: JsonObject;
  /** When the server wrote it, in milliseconds. */
  readonly timeMs: number;
  readonly document: JsonObject;
}

/** The driver has read it with all digits and types. */
export function eventOf(given: Document): Event {
  const time: unknown = given['clusterTime'];
  // The driver goes on behind this `_id` after a failure, so it stays as it is.
  const document = jsonOf({ ...given, _id: { ...(given['_id'] as Document) } }) as JsonObject;
  const { operationType: type, _id: token } = document;
  const seconds = (time as { readonly t?: number } | undefined)?.t;
  if (typeof type !== 'string' || !isObject(token ?? null) || seconds === undefined)
    throw new ConnectorError(
      'data',
      'a change event has no `_id`, `operationType` or `clusterTime`',
      { hint: 'leave them in place in `aggregation_pipeline`' },
    );
  return { type, token: token as JsonObject, timeMs: seconds * 1000, document };
}

export function changeRecord(
  { type, token, timeMs, document }: Event,
  places: boolean,
): JsonObject {
  const op = OPS[type];
  return {
    op: op ?? 'ddl',
    namespace: namespaceOf(document['ns']),
    ts_ms: timeMs,
    before: document['fullDocumentBeforeChange'] ?? null,
    after: document['fullDocument'] ?? null,
    document_key: document['documentKey'] ?? null,
    update_description: updateOf(document['updateDescription']),
    resume_token: token,
    ...(places ? { ddl: op === undefined ? placeChange(type, document) : null } : {}),
  };
}

function namespaceOf(ns: JsonValue | undefined): JsonObject | null {
  if (ns === undefined || !isObject(ns)) return null;
  return { db: ns['db'] ?? null, coll: ns['coll'] ?? null };
}

function updateOf(given: JsonValue | undefined): JsonObject | null {
  if (given === undefined || !isObject(given)) return null;
  const { disambiguatedPaths: paths } = given;
  return {
    updated_fields: given['updatedFields'] ?? {},
    removed_fields: given['removedFields'] ?? [],
    truncated_arrays: given['truncatedArrays'] ?? [],
    ...(paths === undefined ? {} : { disambiguated_paths: paths }),
  };
}

/** What happened to a collection or a database, in the words of the server. */
function placeChange(
  type: string,
  { to, operationDescription: description }: JsonObject,
): JsonObject {
  return {
    operation_type: type,
    ...(to === undefined ? {} : { to: namespaceOf(to) }),
    ...(description === undefined ? {} : { description }),
  };
}
