/** The records of one data file: its columns, the values of its partition, less what is deleted. */
import { ConnectorError } from '../../../lib/errors.ts';
import {
  jsonText,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { readDataFile, type ReadColumn } from '../../_lake/read-data-file.ts';
import type { TableFile } from '../metadata/manifests.ts';
import type { TableMetadata } from '../metadata/table-metadata.ts';
import { lakeField, type NameMapping } from '../schema/file-columns.ts';
import type { IcebergField } from '../schema/iceberg-types.ts';
import type { Storage } from '../storage.ts';
import type { RecordFilter } from './filter.ts';
import type { PlannedFile } from './plan-files.ts';

export interface FileReading {
  readonly storage: Storage;
  readonly metadata: TableMetadata;
  readonly mapping: NameMapping;
  /** The columns that are read, in their order in records. */
  readonly columns: readonly IcebergField[];
  readonly filter: RecordFilter | undefined;
  readonly deletes: Deletes;
}

export async function* readFile(
  { file, positionDeletes, equalityDeletes }: PlannedFile,
  reading: FileReading,
): AsyncGenerator<JsonObject[]> {
  const { columns, filter, deletes, storage } = reading;
  const deleted = await deletes.equal(equalityDeletes);
  const needed = new Map<number, IcebergField>(columns.map((column) => [column.id, column]));
  for (const column of [...(filter?.columns ?? []), ...deleted.flatMap(({ fields }) => fields)])
    needed.set(column.id, column);
  const all = [...needed.values()];
  if (new Set(all.map(({ name }) => name)).size < all.length)
    throw new ConnectorError(
      'refused',
      `deletes of ${file.path} go by a column whose name another column has today`,
      { hint: 'have the deletes applied: rewrite the data files of the table' },
    );
  const batches = readDataFile({
    open: (options) => storage.readParquet(file.path, options),
    columns: all.map((column) => readColumn(column, file, reading)),
    deleted: () => deletes.positions(file.path, positionDeletes),
  });
  for await (const records of batches) {
    const kept = records.filter(
      (record) =>
        (filter === undefined || filter.keeps(record)) &&
        !deleted.some(({ fields, keys }) => keys.has(keyOf(record, fields))),
    );
    yield all.length === columns.length ? kept : kept.map((record) => only(record, columns));
  }
}

function only(record: JsonObject, columns: readonly IcebergField[]): JsonObject {
  return Object.fromEntries(columns.map(({ name }) => [name, record[name] ?? null]));
}

/** A column that a file lacks may be one of its partition. */
function readColumn(
  column: IcebergField,
  { specId, partition }: TableFile,
  { metadata, mapping }: Pick<FileReading, 'metadata' | 'mapping'>,
): ReadColumn {
  const field = lakeField(column, mapping);
  const own = metadata.specs
    .get(specId)
    ?.fields.find(({ sourceId, transform }) => sourceId === column.id && transform === 'identity');
  const constant = own === undefined ? undefined : partition.get(own.id);
  return constant === undefined ? { field } : { field, constant };
}

/** Values of records that are deleted, of the columns that tell them. */
interface DeletedValues {
  readonly fields: readonly IcebergField[];
  readonly keys: ReadonlySet<string>;
}

const POSITION_FIELDS: readonly IcebergField[] = [
  {
    id: 2_147_483_546,
    name: 'file_path',
    type: { is: 'primitive', name: 'string' },
    required: true,
  },
  { id: 2_147_483_545, name: 'pos', type: { is: 'primitive', name: 'long' }, required: true },
];

/** What files of deletes say; each is read once. */
export class Deletes {
  readonly #reading: Pick<FileReading, 'storage' | 'metadata' | 'mapping'>;
  readonly #positions = new Map<string, Promise<ReadonlyMap<string, ReadonlySet<number>>>>();
  readonly #values = new Map<string, Promise<DeletedValues>>();

  constructor(reading: Pick<FileReading, 'storage' | 'metadata' | 'mapping'>) {
    this.#reading = reading;
  }

  /** The rows of a data file that are deleted by their number. */
  async positions(
    path: string,
    files: readonly TableFile[],
  ): Promise<ReadonlySet<number> | undefined> {
    if (files.length === 0) return undefined;
    const rows = new Set<number>();
    for (const file of files) {
      const known = this.#positions.get(file.path) ?? this.#readPositions(file);
      this.#positions.set(file.path, known);
      for (const row of (await known).get(path) ?? []) rows.add(row);
    }
    return rows;
  }

  async equal(files: readonly TableFile[]): Promise<readonly DeletedValues[]> {
    const all: DeletedValues[] = [];
    for (const file of files) {
      const known = this.#values.get(file.path) ?? this.#readValues(file);
      this.#values.set(file.path, known);
      all.push(await known);
    }
    return all;
  }

  async #readPositions(file: TableFile): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
    const rows = new Map<string, Set<number>>();
    for await (const records of this.#read(file, POSITION_FIELDS))
      for (const { file_path: named, pos } of records) {
        const path = jsonText(named ?? '');
        const known = rows.get(path) ?? new Set<number>();
        rows.set(path, known.add(Number(pos)));
      }
    return rows;
  }

  async #readValues(file: TableFile): Promise<DeletedValues> {
    const schemas = [this.#reading.metadata.schema, ...this.#reading.metadata.schemas.values()];
    const fields = file.equalityIds.map((id) => {
      const found = schemas.flatMap((schema) => schema.fields).find((field) => field.id === id);
      if (found !== undefined) return found;
      throw new ConnectorError(
        'refused',
        `${file.path} deletes by the field ${id}, which is no column at the top of the table`,
        { hint: 'have the deletes applied: rewrite the data files of the table' },
      );
    });
    const keys = new Set<string>();
    for await (const records of this.#read(file, fields))
      for (const record of records) keys.add(keyOf(record, fields));
    return { fields, keys };
  }

  #read(file: TableFile, fields: readonly IcebergField[]): AsyncGenerator<JsonObject[]> {
    const { storage, mapping } = this.#reading;
    return readDataFile({
      open: (options) => storage.readParquet(file.path, options),
      columns: fields.map((field) => ({ field: lakeField(field, mapping) })),
    });
  }
}

function keyOf(record: JsonObject, fields: readonly IcebergField[]): string {
  return stringifyJson(fields.map(({ name }): JsonValue => record[name] ?? null));
}
