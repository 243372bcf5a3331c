/** The state of a table: what its metadata file says, and new states made of it. */
import { ConnectorError } from '../../../lib/errors.ts';
import {
  isObject,
  jsonText,
  parseJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { parseStruct, type IcebergStruct } from '../schema/iceberg-types.ts';

export interface TableMetadata {
  /** As it is written; what is not known here stays as it is. */
  readonly raw: JsonObject;
  readonly formatVersion: number;
  readonly uuid: string;
  /** An address without a `/` at its end. */
  readonly location: string;
  readonly lastSequence: number;
  readonly lastColumnId: number;
  readonly schema: TableSchema;
  readonly schemas: ReadonlyMap<number, TableSchema>;
  readonly specs: ReadonlyMap<number, PartitionSpec>;
  readonly defaultSpec: PartitionSpec;
  readonly properties: Readonly<Record<string, string>>;
  readonly current: TableSnapshot | undefined;
  readonly snapshots: ReadonlyMap<bigint, TableSnapshot>;
  /** In the order of time, which snapshot was the current one since when. */
  readonly log: readonly { readonly id: bigint; readonly since: number }[];
}

export interface TableSchema extends IcebergStruct {
  readonly id: number;
}

export interface PartitionSpec {
  readonly id: number;
  readonly fields: readonly PartitionField[];
}

export interface PartitionField {
  readonly id: number;
  readonly name: string;
  readonly sourceId: number;
  readonly transform: string;
}

export interface TableSnapshot {
  readonly id: bigint;
  readonly parent: bigint | undefined;
  readonly sequence: number;
  readonly time: number;
  /** Address of the list of its manifests; absent in old tables, which name the manifests. */
  readonly manifestList: string | undefined;
  readonly manifests: readonly string[];
  readonly summary: Readonly<Record<string, string>>;
  readonly schemaId: number | undefined;
}

/** Tables of later versions have what is not known here, such as deletion vectors. */
const LATEST_FORMAT = 2;

export function parseMetadata(text: string, where: string): TableMetadata {
  let raw: JsonValue;
  try {
    raw = parseJson(text);
  } catch {
    throw damaged(where, 'is not JSON');
  }
  if (!isObject(raw)) throw damaged(where, 'is not a JSON object');
  return metadataOf(raw, where);
}

/** `where`: the table or its metadata file, for messages. */
export function metadataOf(raw: JsonObject, where: string): TableMetadata {
  const formatVersion = wholeOf(raw['format-version'], where, 'format-version');
  if (formatVersion > LATEST_FORMAT)
    throw new ConnectorError(
      'refused',
      `the table ${where} has version ${formatVersion} of the format, which is not known`,
      { hint: `tables of version 1 and ${LATEST_FORMAT} are read` },
    );
  const { location } = raw;
  if (typeof location !== 'string') throw damaged(where, 'says no location');
  const schemas = schemasOf(raw, where);
  const currentSchema = raw['current-schema-id'] ?? 0;
  const schema = schemas.get(Number(currentSchema)) ?? [...schemas.values()][0];
  if (schema === undefined) throw damaged(where, 'has no schema');
  const specs = specsOf(raw, where);
  const defaultSpec = specs.get(Number(raw['default-spec-id'] ?? 0));
  if (defaultSpec === undefined) throw damaged(where, 'has no partition spec');
  const snapshots = new Map(
    listOf(raw['snapshots']).map((one) => {
      const snapshot = snapshotOf(one, where);
      return [snapshot.id, snapshot] as const;
    }),
  );
  const currentId = idOf(raw['current-snapshot-id']);
  const current = currentId === undefined || currentId < 0n ? undefined : snapshots.get(currentId);
  if (currentId !== undefined && currentId >= 0n && current === undefined)
    throw damaged(where, `does not have its current snapshot ${currentId}`);
  return {
    raw,
    formatVersion,
    uuid: typeof raw['table-uuid'] === 'string' ? raw['table-uuid'] : '',
    location: location.replace(/\/+$/, ''),
    lastSequence: Number(raw['last-sequence-number'] ?? 0),
    lastColumnId: Number(raw['last-column-id'] ?? 0),
    schema,
    schemas,
    specs,
    defaultSpec,
    properties: textsOf(raw['properties']),
    current,
    snapshots,
    log: listOf(raw['snapshot-log']).flatMap((one) => {
      const id = idOf(one['snapshot-id']);
      return id === undefined ? [] : [{ id, since: Number(one['timestamp-ms']) }];
    }),
  };
}

function schemasOf(raw: JsonObject, where: string): Map<number, TableSchema> {
  const all = listOf(raw['schemas']);
  const given = all.length > 0 ? all : listOf([raw['schema'] ?? null]);
  return new Map(
    given.map((one) => {
      const id = Number(one['schema-id'] ?? 0);
      return [id, { ...parseStruct(one, where), id }] as const;
    }),
  );
}

function specsOf(raw: JsonObject, where: string): Map<number, PartitionSpec> {
  const all = listOf(raw['partition-specs']);
  const given =
    all.length > 0 ? all : [{ 'spec-id': 0, fields: raw['partition-spec'] ?? [] } as JsonObject];
  return new Map(
    given.map((one) => {
      const id = Number(one['spec-id'] ?? 0);
      const fields = listOf(one['fields']).map((field, index): PartitionField => {
        const { name, transform } = field;
        if (typeof name !== 'string' || typeof transform !== 'string')
          throw damaged(where, 'has a partition field without a name or a transform');
        return {
          id: Number(field['field-id'] ?? FIRST_PARTITION_ID + index),
          name,
          sourceId: wholeOf(field['source-id'], where, 'source-id'),
          transform,
        };
      });
      return [id, { id, fields }] as const;
    }),
  );
}

/** The ids of partition fields begin here. */
export const FIRST_PARTITION_ID = 1000;

function snapshotOf(one: JsonObject, where: string): TableSnapshot {
  const id = idOf(one['snapshot-id']);
  if (id === undefined) throw damaged(where, 'has a snapshot without an id');
  const { manifests, 'manifest-list': list, 'schema-id': schemaId } = one;
  return {
    id,
    parent: idOf(one['parent-snapshot-id']),
    sequence: Number(one['sequence-number'] ?? 0),
    time: Number(one['timestamp-ms'] ?? 0),
    manifestList: typeof list === 'string' ? list : undefined,
    manifests: Array.isArray(manifests) ? manifests.filter((path) => typeof path === 'string') : [],
    summary: textsOf(one['summary']),
    schemaId: typeof schemaId === 'number' ? schemaId : undefined,
  };
}

export function listOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function textsOf(value: JsonValue | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).map(([name, one]) => [name, jsonText(one)]),
  );
}

/** Ids of snapshots have 64 bits. */
export function idOf(value: JsonValue | undefined): bigint | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : undefined;
}

function wholeOf(value: JsonValue | undefined, where: string, name: string): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw damaged(where, `has no \`${name}\``);
}

function damaged(where: string, what: string): ConnectorError {
  return new ConnectorError('data', `the metadata of the table ${where} ${what}`, {
    hint: 'it is damaged, or no metadata of Iceberg',
  });
}
