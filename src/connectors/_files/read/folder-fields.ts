/**
 * Fields whose values stand in the names of folders and not in the files, as tables of Hive are laid
 * out: `sales/year=2024/part-0.parquet`.
 */
import { boolean } from '../../../kit/schema.ts';
import { Page } from '../../../kit/page.ts';
import { fieldOf, withField, type RecordSchema } from '../../../kit/record-schema.ts';
import { hasField, isObject, setField, type JsonValue } from '../../../lib/text/json.ts';
import type { Log } from '../../../lib/log.ts';

export interface FolderFieldsConfig {
  readonly hive_partitioning: boolean;
}

export function hivePartitioning() {
  return boolean().default(false).meta({
    description:
      'Whether records get the fields that folders name (`year=2024/`), as text; `columns` can give them other types. A field that the file has itself stays as it is.',
  });
}

/** Records are changed one by one. */
export function folderFieldsLane({ hive_partitioning: adds }: FolderFieldsConfig): {
  readonly columns?: false;
  readonly encodings?: readonly string[];
} {
  return adds ? { columns: false, encodings: [] } : {};
}

/** What writers call the folder of records without a value. */
const NO_VALUE = '__HIVE_DEFAULT_PARTITION__';

/** Of the folders in the path or key of a file. */
function folderFields(name: string): ReadonlyMap<string, string | null> {
  const folders = name.split('/').slice(0, -1);
  return new Map(
    folders.flatMap((folder) => {
      const at = folder.indexOf('=');
      if (at < 1) return [];
      const value = decoded(folder.slice(at + 1));
      return [[decoded(folder.slice(0, at)), value === NO_VALUE ? null : value] as const];
    }),
  );
}

/** Letters that cannot stand in a name are written as `%3A`. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function withFolderFields(record: JsonValue, name: string): JsonValue {
  return added(record, folderFields(name));
}

function added(record: JsonValue, fields: ReadonlyMap<string, string | null>): JsonValue {
  if (fields.size === 0 || !isObject(record)) return record;
  const whole = { ...record };
  for (const [field, value] of fields) if (!hasField(record, field)) setField(whole, field, value);
  return whole;
}

/** What one run knows of the folders of its files. */
export class FolderFields {
  readonly #adds: boolean;
  readonly #log: Pick<Log, 'warn'>;
  /** Values of the first file that was read without them. */
  #first: string | undefined;
  #told = false;
  #last:
    | { readonly input: RecordSchema; readonly names: string; readonly output: RecordSchema }
    | undefined;

  constructor({ hive_partitioning: adds }: FolderFieldsConfig, log: Pick<Log, 'warn'>) {
    this.#adds = adds;
    this.#log = log;
  }

  /** `name` is the path or the key of the file. */
  async *pages(pages: AsyncIterable<Page>, name: string): AsyncGenerator<Page> {
    const fields = folderFields(name);
    for await (const page of pages) {
      if (fields.size > 0 && !this.#adds) this.#tell(page, fields, name);
      yield fields.size > 0 && this.#adds ? this.#with(page, fields) : page;
    }
  }

  #with(page: Page, fields: ReadonlyMap<string, string | null>): Page {
    const { bytes, bookmark, rejected, places } = page;
    const records = page.records().map((record) => added(record, fields));
    return Page.ofRecords(records, {
      bytes,
      rejected,
      places,
      schema: page.schema && this.#schema(page.schema, [...fields.keys()]),
      ...(bookmark === undefined ? {} : { bookmark }),
    });
  }

  #schema(input: RecordSchema, fields: readonly string[]): RecordSchema {
    const names = JSON.stringify(fields);
    if (this.#last?.input !== input || this.#last.names !== names) {
      const output = fields
        .filter((name) => fieldOf(input, name) === undefined)
        .map((name) => ({ name, type: { kind: 'utf8' }, nullable: true }) as const)
        .reduce(withField, input);
      this.#last = { input, names, output };
    }
    return this.#last.output;
  }

  /** Who reads from one folder alone knows what its name says. */
  #tell(page: Page, fields: ReadonlyMap<string, string | null>, name: string): void {
    if (this.#told || page.count === 0) return;
    const values = JSON.stringify([...fields]);
    this.#first ??= values;
    if (values === this.#first) return;
    this.#told = true;
    const [record = null] = page.slice(0, 1).records();
    const lost = [...fields.keys()].filter((field) => isObject(record) && !hasField(record, field));
    if (lost.length === 0) return;
    this.#log.warn('folders name fields that the records in their files do not have', {
      path: name,
      fields: lost.join(', '),
      hint: 'set `hive_partitioning: true` to read them',
    });
  }
}
