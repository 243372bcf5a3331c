/**
 * The Storage Read API over gRPC: sessions, streams that can be read from any row on, and rows in
 * the format of Arrow.
 */
import * as wire from '@bufbuild/protobuf/wire';
import type { DuckDBValue } from '@duckdb/node-api';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { decoded, encoded } from '../../../src/connectors/_google/messages.ts';
import {
  ARROW,
  CREATE_READ_SESSION,
  READ_ROWS,
  type ReadSession,
  type RowsAnswer,
  type RowsRequest,
  type SessionRequest,
} from '../../../src/connectors/bigquery/storage/api.ts';
import { arrowParts } from './arrow-parts.ts';
import { BigqueryFault } from './fault.ts';
import { selected } from './selected-fields.ts';
import type { Field } from './types.ts';

type Values = readonly (readonly DuckDBValue[])[];

export interface Stored {
  readonly fields: readonly Field[];
  readonly values: Values;
}

export interface ReadFault {
  readonly code: number;
  readonly details: string;
}

export interface ReadCall {
  readonly stream: string;
  readonly offset: number;
  /** How many parts were sent before. */
  readonly sent: number;
}

const SILENT = '-silent';
const GRPC_OF: Readonly<Record<number, number>> = {
  400: status.INVALID_ARGUMENT,
  404: status.NOT_FOUND,
};

export class FakeReadService {
  url = '';
  /** Rows of a part. */
  partRows = 5;
  readonly sessions: SessionRequest[] = [];
  readonly reads: RowsRequest[] = [];
  readonly headers: string[] = [];
  /** `project.dataset.table`, of which no row ever comes. */
  readonly silent = new Set<string>();
  /** Asked before each session. */
  sessionFault: () => ReadFault | undefined = () => undefined;
  /** Asked before each part, and before the end. */
  fault: (call: ReadCall) => ReadFault | undefined | Promise<undefined> = () => undefined;
  /** Changes a part on its way. */
  spoil: (answer: RowsAnswer, call: ReadCall) => RowsAnswer = (answer) => answer;
  readonly #stored: (dataset: string, table: string, restriction: string) => Promise<Stored>;
  readonly #streams = new Map<string, Stored>();
  readonly #server = new Server();

  constructor(stored: (dataset: string, table: string, restriction: string) => Promise<Stored>) {
    this.#stored = stored;
  }

  async start(): Promise<void> {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const method = (path: string, responseStream: boolean) => ({
      path,
      requestStream: false,
      responseStream,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    });
    this.#server.addService(
      {
        CreateReadSession: method(CREATE_READ_SESSION.path, false),
        ReadRows: method(READ_ROWS.path, true),
      },
      {
        CreateReadSession: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
          void this.#open(call).then(
            (session) => done(null, encoded(wire, CREATE_READ_SESSION.answer, session)),
            (error: unknown) => done(failureOf(error)),
          ),
        ReadRows: (call: ServerWritableStream<Buffer, Buffer>) =>
          void this.#read(call).catch((error: unknown) => call.emit('error', failureOf(error))),
      },
    );
    const port = await new Promise<number>((resolve, reject) =>
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    this.url = `http://127.0.0.1:${port}`;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  async #open(call: ServerUnaryCall<Buffer, Buffer>): Promise<ReadSession> {
    const request = decoded(wire, CREATE_READ_SESSION.request, call.request);
    this.sessions.push(request);
    this.headers.push(String(call.metadata.get('x-goog-request-params')[0]));
    const fault = this.sessionFault();
    if (fault !== undefined) throw fault;
    const { read_session: session, max_stream_count: most } = request;
    if (session.data_format !== ARROW) throw invalid('only Arrow is given here');
    const [, dataset = '', table = ''] =
      /datasets\/([^/]+)\/tables\/(.+)$/.exec(session.table) ?? [];
    const { selected_fields: names, row_restriction: restriction } = session.read_options;
    const stored = selected(await this.#stored(dataset, table, restriction), names);
    const { length } = stored.values;
    const count = Math.min(most === 0 ? length : most, length);
    const each = Math.ceil(length / Math.max(1, count));
    const isSilent = this.silent.has(
      session.table.replace(/^projects\/(.+)\/datasets\/(.+)\/tables\//, '$1.$2.'),
    );
    const name = `projects/the-project/locations/us/sessions/${this.sessions.length}${isSilent ? SILENT : ''}`;
    const streams = Array.from({ length: Math.ceil(length / Math.max(1, each)) }, (_, at) => {
      const stream = `${name}/streams/${at}`;
      const values = stored.values.slice(at * each, (at + 1) * each);
      this.#streams.set(stream, { fields: stored.fields, values });
      return { name: stream };
    });
    const { schema } = arrowParts(stored.fields, []);
    return { ...session, arrow_schema: { serialized_schema: schema }, streams };
  }

  async #read(call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
    const request = decoded(wire, READ_ROWS.request, call.request);
    this.reads.push(request);
    const stored = this.#streams.get(request.read_stream);
    if (stored === undefined) throw { code: status.NOT_FOUND, details: 'no such stream' };
    if (request.read_stream.includes(SILENT)) return;
    const offset = Number(request.offset);
    const rest = stored.values.slice(offset);
    for (let sent = 0; ; sent += 1) {
      const asked = { stream: request.read_stream, offset, sent };
      const fault = await this.fault(asked);
      if (fault !== undefined) {
        // What was sent before arrives before it.
        await new Promise((done) => setImmediate(done));
        throw fault;
      }
      const rows = rest.slice(sent * this.partRows, (sent + 1) * this.partRows);
      if (rows.length === 0) break;
      const answer = {
        arrow_record_batch: { serialized_record_batch: arrowParts(stored.fields, rows).batch },
        row_count: BigInt(rows.length),
      };
      call.write(encoded(wire, READ_ROWS.answer, this.spoil(answer, asked)));
    }
    call.end();
  }
}

function invalid(details: string): ReadFault {
  return { code: status.INVALID_ARGUMENT, details };
}

function failureOf(error: unknown): ReadFault & { readonly metadata: Metadata } {
  const metadata = new Metadata();
  if (error instanceof BigqueryFault)
    return { code: GRPC_OF[error.status] ?? status.UNKNOWN, details: error.message, metadata };
  if (typeof error === 'object' && error !== null && 'code' in error)
    return { ...(error as ReadFault), metadata };
  return { code: status.INTERNAL, details: String(error), metadata };
}
