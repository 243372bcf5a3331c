/** The Storage Read API: sessions, and the rows of their streams, each once however often one breaks. */
import type { RecordBatch } from 'apache-arrow';
import { ConnectorError } from '../../../lib/errors.ts';
import { mergedSequences } from '../../../lib/merged-sequences.ts';
import { batchesIn, type Arrow } from '../../_arrow/batches.ts';
import { GoogleService } from '../../_google/service.ts';
import { GRPC_STATUS } from '../../_grpc/status.ts';
import { mayRepeat, runRequests } from '../../_http/run-requests.ts';
import type { BigquerySourceConfig } from '../config.ts';
import type { LinkContext } from '../link.ts';
import type { TablePlace } from '../table-name.ts';
import { ARROW, CREATE_READ_SESSION, READ_ROWS } from './api.ts';

const SESSION_MS = 600_000;
/** With a restriction the service may look at many rows before it finds one. */
const SILENCE_MS = 600_000;

const READING = 'the rows cannot be read';
const OTHERWISE = 'set `read_api: false`';

const HINTS = {
  [GRPC_STATUS.invalidArgument]: 'check `selected_fields` and `row_restriction`',
  [GRPC_STATUS.notFound]: 'check `read_table`',
  [GRPC_STATUS.permissionDenied]:
    'grant the account the roles BigQuery Read Session User on the project and BigQuery Data Viewer on the dataset',
  [GRPC_STATUS.unauthenticated]: 'check `auth`: BigQuery does not know who asks',
};

export interface Session {
  /** The columns, as a message of Arrow. */
  readonly schema: Uint8Array;
  /** Their names. */
  readonly streams: readonly string[];
}

type ReadConfig = Pick<
  BigquerySourceConfig,
  | 'project_id'
  | 'auth'
  | 'read_api_endpoint'
  | 'selected_fields'
  | 'row_restriction'
  | 'max_streams'
>;

export class ReadService {
  readonly #config: ReadConfig;
  readonly #context: LinkContext;
  readonly #arrow: Arrow;
  readonly #service: GoogleService;

  constructor(config: ReadConfig, context: LinkContext, arrow: Arrow) {
    this.#config = config;
    this.#context = context;
    this.#arrow = arrow;
    const { read_api_endpoint: endpoint } = config;
    const isEmulator = endpoint?.startsWith('http:') === true;
    this.#service = new GoogleService(
      {
        ...(isEmulator ? { emulator_host: endpoint } : { endpoint }),
        auth: config.auth,
        host: 'bigquerystorage.googleapis.com',
        scope: 'bigquery',
        hints: HINTS,
      },
      context,
    );
  }

  /** Of the rows as they are now. It ends by itself, and costs nothing. */
  async open(
    { project, dataset, table }: TablePlace,
    { rows: row_restriction }: { readonly rows: string },
  ): Promise<Session> {
    const { project_id, selected_fields = [], max_streams: max_stream_count } = this.#config;
    const path = `projects/${project}/datasets/${dataset}/tables/${table}`;
    const request = {
      parent: `projects/${project_id}`,
      read_session: {
        data_format: ARROW,
        table: path,
        read_options: { selected_fields, row_restriction },
      },
      max_stream_count,
    };
    const doing = `\`${dataset}.${table}\` cannot be read`;
    const about = `read_session.table=${encodeURIComponent(path)}`;
    const run = runRequests(this.#context);
    const session = await run(doing, this.#context.signal, () =>
      this.#service.ask(CREATE_READ_SESSION, request, { doing, about, timeoutMs: SESSION_MS }),
    );
    const { arrow_schema: schema, streams = [] } = session;
    if (schema === undefined)
      throw new ConnectorError('data', `${doing}: the service gives no columns of Arrow`, {
        hint: 'check `read_api_endpoint`',
      });
    return { schema: schema.serialized_schema, streams: streams.map(({ name }) => name) };
  }

  /** Of all streams of the session, which are read at the same time. */
  async *batches({ schema, streams }: Session): AsyncGenerator<RecordBatch, void> {
    const unneeded = new AbortController();
    const signal = AbortSignal.any([this.#context.signal, unneeded.signal]);
    const sequences = streams.map((stream) => () => this.#batchesOf(stream, { schema, signal }));
    yield* mergedSequences(sequences, streams.length, () => unneeded.abort());
  }

  /** A stream that broke is read again from the first row that has not come. */
  async *#batchesOf(
    stream: string,
    { schema, signal }: { readonly schema: Uint8Array; readonly signal: AbortSignal },
  ): AsyncGenerator<RecordBatch, void> {
    const about = `read_stream=${encodeURIComponent(stream)}`;
    const call = { doing: READING, about, signal, silenceMs: SILENCE_MS };
    let offset = 0n;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answers = this.#service.stream(READ_ROWS, { read_stream: stream, offset }, call);
        for await (const { arrow_record_batch: sent, row_count: count } of answers) {
          if (sent === undefined) continue;
          const batches = this.#decoded(schema, sent.serialized_record_batch);
          const rows = batches.reduce((sum, { numRows }) => sum + numRows, 0);
          if (BigInt(rows) !== count)
            throw new ConnectorError('data', `${rows} rows came where ${count} were told`, {
              hint: `run it again, or ${OTHERWISE}`,
            });
          offset += count;
          attempt = 0;
          yield* batches;
        }
        return;
      } catch (error) {
        if (!(await mayRepeat(error, { attempt, what: READING, signal, context: this.#context })))
          throw error;
      }
    }
  }

  #decoded(schema: Uint8Array, batch: Uint8Array): readonly RecordBatch[] {
    const bytes = Buffer.concat([schema, batch]);
    return batchesIn(this.#arrow, bytes, { what: 'a part of the rows', otherwise: OTHERWISE });
  }

  async close(): Promise<void> {
    await this.#service.close();
  }
}
