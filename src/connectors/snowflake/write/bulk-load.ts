/** Rows by objects: this program writes them to the store of a stage, and COPY INTO loads them. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { SinkContext } from '../../../kit/context.ts';
import { outputId } from '../../../kit/output-id.ts';
import type { ObjectStore } from '../../../lib/objects/object-store.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { putObject, stagedKey } from '../../_objects/staged-objects.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import type { BulkLoad } from '../config.ts';
import { literal } from '../literal.ts';
import { stageFolder } from '../../_objects/load-place.ts';
import { holdsDocument, readText, type TextRow } from './texts.ts';

export class StagedLoads {
  readonly #config: BulkLoad;
  readonly #context: SinkContext;
  readonly #store: ObjectStore;
  #loads = 0;

  constructor(config: BulkLoad, context: SinkContext, store: ObjectStore) {
    this.#config = config;
    this.#context = context;
    this.#store = store;
  }

  /** Writes an object, and gives the statement that loads it. */
  async statementFor(table: string, rows: EncodedRows<TextRow>): Promise<string> {
    this.#loads += 1;
    const file = `${stagedKey('', `${outputId(this.#context)}-${this.#loads}`)}.jsonl.gz`;
    const folder = stageFolder(this.#config).replace(/\/+$/, '');
    await putObject(this.#store, folder === '' ? file : `${folder}/${file}`, {
      bytes: await promisify(gzip)(jsonLines(rows)),
      contentType: 'application/gzip',
      signal: this.#context.signal,
    });
    return this.#statement(table, rows.columns, file);
  }

  #statement(table: string, columns: EncodedRows<TextRow>['columns'], file: string): string {
    const { stage, match_by_column_name: match, purge } = this.#config;
    const place = `@${stage.replace(/^@/, '')}`;
    const options = [
      `FILES = (${literal(file)})`,
      'FILE_FORMAT = (TYPE = JSON COMPRESSION = GZIP BINARY_FORMAT = HEX)',
      ...(match === 'NONE' ? [] : [`MATCH_BY_COLUMN_NAME = ${match}`]),
      `PURGE = ${purge ? 'TRUE' : 'FALSE'}`,
      'ON_ERROR = ABORT_STATEMENT',
    ].join(' ');
    if (match !== 'NONE') return `COPY INTO ${table} FROM ${place} ${options}`;
    const names = columns.map(({ name }) => quoteName(name)).join(', ');
    const values = columns.map((column) => {
      const member = `$1:${quoteName(column.name)}`;
      return holdsDocument(column) ? member : readText(column, `${member}::VARCHAR`);
    });
    return `COPY INTO ${table} (${names}) FROM (SELECT ${values.join(', ')} FROM ${place}) ${options}`;
  }

  close(): void {
    this.#store.close();
  }
}

/** One object for each row; documents stand there as they are. A null is not there. */
function jsonLines({ columns, rows }: EncodedRows<TextRow>): string {
  const fields = columns.map((column) => ({
    start: `${JSON.stringify(column.name)}:`,
    isDocument: holdsDocument(column),
  }));
  const lines = rows.map((row) => {
    const members = fields.flatMap(({ start, isDocument }, at) => {
      const text = row[at] ?? null;
      if (text === null) return [];
      return [start + (isDocument ? text : JSON.stringify(text))];
    });
    return `{${members.join(',')}}\n`;
  });
  return lines.join('');
}
