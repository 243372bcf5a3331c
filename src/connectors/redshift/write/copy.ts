/** Rows by objects: this program writes them to a bucket, and COPY loads them. */
import type { ClientBase } from 'pg';
import type { SinkContext } from '../../../kit/context.ts';
import { outputId } from '../../../kit/output-id.ts';
import type { ObjectStore } from '../../../lib/objects/object-store.ts';
import { openS3 } from '../../../lib/objects/s3-objects.ts';
import { quoteNames } from '../../../lib/sql/sql-name.ts';
import { runRequests } from '../../_http/run-requests.ts';
import {
  putObject,
  removeStaged,
  STAGING_REQUEST_MS,
  stagedKey,
} from '../../_objects/staged-objects.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import type { RedshiftSinkConfig } from '../config.ts';
import { literal } from '../read/statement.ts';
import { SUPER, type TextRow } from './texts.ts';

export function openStagingBucket(
  { staging_bucket: bucket = '', region, endpoint_url: endpoint }: RedshiftSinkConfig,
  context: Pick<SinkContext, 'env' | 'signal'>,
): Promise<ObjectStore> {
  const requests = { attempts: 1, requestMs: STAGING_REQUEST_MS, run: runRequests(context) };
  const place = { bucket, region, endpoint, login: undefined, pathStyle: undefined };
  return openS3(place, requests);
}

export class StagedCopies {
  readonly #config: RedshiftSinkConfig;
  readonly #context: SinkContext;
  readonly #store: ObjectStore;
  #loads = 0;

  constructor(config: RedshiftSinkConfig, context: SinkContext, store: ObjectStore) {
    this.#config = config;
    this.#context = context;
    this.#store = store;
  }

  async load(client: ClientBase, table: string, rows: EncodedRows<TextRow>): Promise<void> {
    const { copy_format: format = 'jsonl', staging_prefix: prefix = '' } = this.#config;
    this.#loads += 1;
    const id = `${outputId(this.#context)}-${this.#loads}`;
    const key = `${stagedKey(prefix, id)}.${format}`;
    const nulls = format === 'csv' ? unusedText(rows) : undefined;
    const text = nulls === undefined ? jsonLines(rows) : csvLines(rows, nulls);
    const { signal } = this.#context;
    try {
      await putObject(this.#store, key, {
        bytes: Buffer.from(text),
        contentType: nulls === undefined ? 'application/x-ndjson' : 'text/csv',
        signal,
      });
      await client.query(this.#statement(table, rows, { key, nulls }));
    } finally {
      await removeStaged(this.#store, key, this.#context);
    }
  }

  #statement(
    table: string,
    { columns }: EncodedRows<TextRow>,
    { key, nulls }: { readonly key: string; readonly nulls: string | undefined },
  ): string {
    const { staging_bucket: bucket, iam_role: role = '', region } = this.#config;
    return [
      `COPY ${table} (${quoteNames(columns.map(({ name }) => name))})`,
      `FROM ${literal(`s3://${bucket}/${key}`)}`,
      `IAM_ROLE ${role === 'default' ? role : literal(role)}`,
      ...(region === undefined ? [] : [`REGION ${literal(region)}`]),
      nulls === undefined ? "FORMAT AS JSON 'auto'" : `FORMAT AS CSV NULL AS ${literal(nulls)}`,
      // Times as this program writes them, and decimals rounded as in an INSERT.
      "DATEFORMAT 'auto' TIMEFORMAT 'auto' ROUNDEC",
    ].join(' ');
  }

  close(): void {
    this.#store.close();
  }
}

/** One object for each row, with each of the columns; documents stand there as they are. */
function jsonLines({ columns, rows }: EncodedRows<TextRow>): string {
  const fields = columns.map(({ name, sqlType }) => ({
    start: `${JSON.stringify(name)}:`,
    isDocument: sqlType === SUPER,
  }));
  const lines = rows.map((row) => {
    const members = fields.map(({ start, isDocument }, at) => {
      const text = row[at] ?? null;
      return start + (text !== null && isDocument ? text : JSON.stringify(text));
    });
    return `{${members.join(',')}}\n`;
  });
  return lines.join('');
}

function csvLines({ rows }: EncodedRows<TextRow>, nulls: string): string {
  const cell = (text: string | null): string =>
    text === null ? nulls : `"${text.replaceAll('"', '""')}"`;
  return rows.map((row) => `${row.map(cell).join(',')}\n`).join('');
}

/** A text for null that no value is: the database may not ask whether it stands in quotes. */
function unusedText({ rows }: EncodedRows<TextRow>): string {
  let text = '@NULL@';
  while (rows.some((row) => row.includes(text))) text = `@${text}`;
  return text;
}
