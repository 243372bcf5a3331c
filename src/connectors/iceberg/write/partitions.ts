/** The partitions of a table: which one a record belongs to, and how files and manifests tell it. */
import { exactField } from '../../../lib/text/json-literal.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { isBelow, type Comparable } from '../../_lake/column-bounds.ts';
import type { Placed } from '../../_lake/data-files.ts';
import { partitionFolder } from '../../_lake/partition-folder.ts';
import { partitionName, partitionSchema } from '../metadata/manifest-schemas.ts';
import type { PartitionField, PartitionSpec, TableSchema } from '../metadata/table-metadata.ts';
import { bytesOfPlain, recordValueOf } from '../schema/single-value.ts';
import {
  parseTransform,
  partitionText,
  transformOf,
  type PartitionValue,
  type Transform,
} from '../schema/transforms.ts';

/** One for each field of the spec. */
export type PartitionValues = readonly PartitionValue[];

interface Part {
  readonly field: PartitionField;
  readonly column: string;
  readonly transform: Transform;
  readonly kind: string;
}

export class Partitions {
  readonly #parts: readonly Part[];

  constructor({ fields }: PartitionSpec, schema: TableSchema, table: string) {
    this.#parts = fields.map((field) => {
      const source = schema.fields.find(({ id }) => id === field.sourceId);
      const type = source?.type ?? { is: 'primitive' as const, name: 'string' };
      return {
        field,
        column: source?.name ?? '',
        transform: transformOf(field.transform, type, table),
        kind: parseTransform(field.transform)?.kind ?? '',
      };
    });
  }

  get areThere(): boolean {
    return this.#parts.length > 0;
  }

  of(record: JsonObject): Placed<PartitionValues> {
    const values = this.#parts.map(({ column, transform }) =>
      transform.of(exactField(record, column) ?? null),
    );
    return {
      key: JSON.stringify(values.map((value) => (value === null ? null : String(value)))),
      values,
    };
  }

  folder(values: PartitionValues): string {
    return partitionFolder(
      this.#parts.map(({ field, transform, kind }, index) => [
        field.name,
        partitionText(values[index] ?? null, transform, kind),
      ]),
    );
  }

  /** The fields of a partition in manifests. */
  schema(): JsonObject[] {
    return this.#parts.map(({ field, transform }) => partitionSchema(field, transform.result));
  }

  record(values: PartitionValues): JsonObject {
    return Object.fromEntries(
      this.#parts.map(({ field, transform }, index) => {
        const value = values[index] ?? null;
        return [
          partitionName(field),
          value === null ? null : recordValueOf(value, transform.result),
        ];
      }),
    );
  }

  /** What a list of manifests says of the partitions of one, by which readers pass over it. */
  summaries(all: readonly PartitionValues[]): JsonObject[] {
    return this.#parts.map(({ transform }, index) => {
      const values = all.map((one) => one[index] ?? null);
      const present = values.filter((value) => value !== null);
      const bound = (isBetter: (a: Comparable, b: Comparable) => boolean): JsonValue => {
        if (present.length === 0 || present.some((value) => Number.isNaN(value))) return null;
        const best = present.reduce((a, b) => (isBetter(ordered(b), ordered(a)) ? b : a));
        return bytesOfPlain(best, transform.result)?.toString('base64') ?? null;
      };
      return {
        contains_null: present.length < values.length,
        contains_nan: present.some((value) => Number.isNaN(value)),
        lower_bound: bound(isBelow),
        upper_bound: bound((a, b) => isBelow(b, a)),
      };
    });
  }
}

function ordered(value: Comparable | boolean): Comparable {
  return typeof value === 'boolean' ? Number(value) : value;
}
