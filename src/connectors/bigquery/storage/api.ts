/** What is used of the Storage Read API (v1), by the numbers that its public description gives. */
import { messageType, one, some, told } from '../../_google/messages.ts';
import type { Method } from '../../_google/service.ts';

/** Rows in the format of Arrow. */
export const ARROW = 2;

export interface ReadSession {
  readonly data_format: number;
  /** `projects/…/datasets/…/tables/…`. */
  readonly table: string;
  readonly read_options: {
    readonly selected_fields: readonly string[];
    readonly row_restriction: string;
  };
  readonly arrow_schema?: { readonly serialized_schema: Uint8Array } | undefined;
  readonly streams?: readonly { readonly name: string }[];
}

const READ_SESSION = messageType<ReadSession>({
  data_format: one(3, 'int32'),
  arrow_schema: told(5, messageType({ serialized_schema: one(1, 'bytes') })),
  table: one(6, 'string'),
  read_options: one(
    8,
    messageType({ selected_fields: some(1, 'string'), row_restriction: one(2, 'string') }),
  ),
  streams: some(10, messageType({ name: one(1, 'string') })),
});

export interface SessionRequest {
  /** `projects/…`: who pays. */
  readonly parent: string;
  readonly read_session: ReadSession;
  readonly max_stream_count: number;
}

export const CREATE_READ_SESSION: Method<SessionRequest, ReadSession> = {
  path: '/google.cloud.bigquery.storage.v1.BigQueryRead/CreateReadSession',
  request: messageType<SessionRequest>({
    parent: one(1, 'string'),
    read_session: one(2, READ_SESSION),
    max_stream_count: one(3, 'int32'),
  }),
  answer: READ_SESSION,
};

export interface RowsRequest {
  readonly read_stream: string;
  /** Rows of the stream that are left out at its beginning. */
  readonly offset: bigint;
}

export interface RowsAnswer {
  readonly arrow_record_batch?: { readonly serialized_record_batch: Uint8Array } | undefined;
  readonly row_count: bigint;
}

export const READ_ROWS: Method<RowsRequest, RowsAnswer> = {
  path: '/google.cloud.bigquery.storage.v1.BigQueryRead/ReadRows',
  request: messageType<RowsRequest>({ read_stream: one(1, 'string'), offset: one(2, 'int64') }),
  answer: messageType<RowsAnswer>({
    arrow_record_batch: told(4, messageType({ serialized_record_batch: one(1, 'bytes') })),
    row_count: one(6, 'int64'),
  }),
};
