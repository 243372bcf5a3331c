/** The Avro schemas of manifests and of their lists, with the ids that readers go by. */
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import type { IcebergType } from '../schema/iceberg-types.ts';
import type { PartitionField } from './table-metadata.ts';

const required = (name: string, id: number, type: JsonValue): JsonObject => ({
  name,
  type,
  'field-id': id,
});

const optional = (name: string, id: number, type: JsonValue): JsonObject => ({
  name,
  type: ['null', type],
  default: null,
  'field-id': id,
});

/** A map whose keys are no texts is a list of entries. */
function map(keyId: number, valueId: number, value: JsonValue): JsonObject {
  return {
    type: 'array',
    logicalType: 'map',
    items: {
      type: 'record',
      name: `k${keyId}_v${valueId}`,
      fields: [required('key', keyId, 'int'), required('value', valueId, value)],
    },
  };
}

const list = (elementId: number, items: JsonValue): JsonObject => ({
  type: 'array',
  items,
  'element-id': elementId,
});

export function manifestEntrySchema(partition: readonly JsonObject[]): JsonObject {
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      required('status', 0, 'int'),
      optional('snapshot_id', 1, 'long'),
      optional('sequence_number', 3, 'long'),
      optional('file_sequence_number', 4, 'long'),
      required('data_file', 2, {
        type: 'record',
        name: 'r2',
        fields: [
          required('content', 134, 'int'),
          required('file_path', 100, 'string'),
          required('file_format', 101, 'string'),
          required('partition', 102, { type: 'record', name: 'r102', fields: [...partition] }),
          required('record_count', 103, 'long'),
          required('file_size_in_bytes', 104, 'long'),
          optional('column_sizes', 108, map(117, 118, 'long')),
          optional('value_counts', 109, map(119, 120, 'long')),
          optional('null_value_counts', 110, map(121, 122, 'long')),
          optional('nan_value_counts', 137, map(138, 139, 'long')),
          optional('lower_bounds', 125, map(126, 127, 'bytes')),
          optional('upper_bounds', 128, map(129, 130, 'bytes')),
          optional('sort_order_id', 140, 'int'),
        ],
      }),
    ],
  };
}

export const MANIFEST_FILE_SCHEMA: JsonObject = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    required('manifest_path', 500, 'string'),
    required('manifest_length', 501, 'long'),
    required('partition_spec_id', 502, 'int'),
    required('content', 517, 'int'),
    required('sequence_number', 515, 'long'),
    required('min_sequence_number', 516, 'long'),
    required('added_snapshot_id', 503, 'long'),
    required('added_files_count', 504, 'int'),
    required('existing_files_count', 505, 'int'),
    required('deleted_files_count', 506, 'int'),
    required('added_rows_count', 512, 'long'),
    required('existing_rows_count', 513, 'long'),
    required('deleted_rows_count', 514, 'long'),
    optional(
      'partitions',
      507,
      list(508, {
        type: 'record',
        name: 'r508',
        fields: [
          required('contains_null', 509, 'boolean'),
          optional('contains_nan', 518, 'boolean'),
          optional('lower_bound', 510, 'bytes'),
          optional('upper_bound', 511, 'bytes'),
        ],
      }),
    ),
    optional('key_metadata', 519, 'bytes'),
  ],
};

/** The field of a partition in manifests; readers go by its id, so its name only must be one. */
export function partitionSchema({ id, name }: PartitionField, type: IcebergType): JsonObject {
  return optional(partitionName({ id, name }), id, avroType(type, id));
}

export function partitionName({ id, name }: Pick<PartitionField, 'id' | 'name'>): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `field_${id}`;
}

const PRIMITIVES: Readonly<Record<string, JsonValue>> = {
  boolean: 'boolean',
  int: 'int',
  long: 'long',
  float: 'float',
  double: 'double',
  date: { type: 'int', logicalType: 'date' },
  time: { type: 'long', logicalType: 'time-micros' },
  timestamp: { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': false },
  timestamptz: { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': true },
  string: 'string',
  binary: 'bytes',
};

function avroType(type: IcebergType, id: number): JsonValue {
  if (type.is === 'decimal') {
    const { precision, scale } = type;
    const name = `decimal_${precision}_${scale}_${id}`;
    return {
      type: 'fixed',
      name,
      size: decimalBytes(precision),
      logicalType: 'decimal',
      precision,
      scale,
    };
  }
  const { name } = type as Extract<IcebergType, { is: 'primitive' }>;
  if (name === 'uuid')
    return { type: 'fixed', name: `uuid_fixed_${id}`, size: 16, logicalType: 'uuid' };
  return PRIMITIVES[name] ?? 'string';
}

/** The fewest bytes that hold all numbers of so many digits. */
function decimalBytes(precision: number): number {
  const largest = 10n ** BigInt(precision) - 1n;
  return Math.ceil((largest.toString(2).length + 1) / 8);
}
