/** What is used of the protocol of Spanner, by the numbers that its public description gives. */
import {
  EMPTY,
  INSTANT,
  lazily,
  messageType,
  named,
  one,
  some,
  told,
  type Instant,
  type MessageType,
} from '../_google/messages.ts';
import type { Method } from '../_google/service.ts';
import { LIST, MAP, VALUE, type Cell } from './cells.ts';

/** Numbers of the types of values. */
export const CODES = {
  BOOL: 1,
  INT64: 2,
  FLOAT64: 3,
  TIMESTAMP: 4,
  DATE: 5,
  STRING: 6,
  BYTES: 7,
  ARRAY: 8,
  STRUCT: 9,
  NUMERIC: 10,
  JSON: 11,
  PROTO: 13,
  ENUM: 14,
  FLOAT32: 15,
  INTERVAL: 16,
  UUID: 17,
} as const;

export interface ValueType {
  readonly code: number;
  /** Of an array. */
  readonly item?: ValueType | undefined;
  /** Of a struct. */
  readonly struct?: StructType | undefined;
}

export interface StructType {
  readonly fields: readonly StructField[];
}

export interface StructField {
  readonly name: string;
  readonly type?: ValueType | undefined;
}

const STRUCT_TYPE: MessageType<StructType> = messageType<StructType>({
  fields: some(
    1,
    messageType<StructField>({
      name: one(1, 'string'),
      type: told(
        2,
        lazily(() => TYPE),
      ),
    }),
  ),
});

const TYPE: MessageType<ValueType> = messageType<ValueType>({
  code: one(1, 'int32'),
  item: told(
    2,
    lazily(() => TYPE),
  ),
  struct: told(3, STRUCT_TYPE),
});

interface ReadOnly {
  readonly strong?: boolean;
  readonly exact_staleness?: Instant;
}

/** Of these exactly one. */
export interface TransactionOptions {
  readonly read_write?: object;
  readonly read_only?: ReadOnly;
}

const OPTIONS = messageType<TransactionOptions>({
  read_write: told(1, EMPTY),
  read_only: told(
    2,
    messageType<ReadOnly>({ strong: told(1, 'bool'), exact_staleness: told(5, INSTANT) }),
  ),
});

export interface Selector {
  readonly single_use?: TransactionOptions;
  readonly id?: Uint8Array;
}

interface SqlRequest {
  readonly session: string;
  readonly transaction: Selector;
  readonly sql: string;
  readonly params: Readonly<Record<string, Cell>>;
  /** A parameter that is not here has the type that the statement gives it. */
  readonly param_types: Readonly<Record<string, ValueType>>;
  readonly resume_token?: Uint8Array | undefined;
  /** Numbers the changes of a transaction, so that one which is repeated is made once. */
  readonly seqno?: bigint | undefined;
}

const SQL_REQUEST = messageType<SqlRequest>({
  session: one(1, 'string'),
  transaction: one(
    2,
    messageType<Selector>({ single_use: told(1, OPTIONS), id: told(2, 'bytes') }),
  ),
  sql: one(3, 'string'),
  params: told(4, MAP),
  param_types: named(5, TYPE),
  resume_token: told(6, 'bytes'),
  seqno: told(9, 'int64'),
});

interface Metadata {
  readonly row_type?: StructType | undefined;
}
const METADATA = messageType<Metadata>({ row_type: told(1, STRUCT_TYPE) });

interface Stats {
  readonly row_count_exact: bigint;
}
const STATS = messageType<Stats>({ row_count_exact: one(3, 'int64') });

export interface ResultSet {
  readonly metadata?: Metadata | undefined;
  readonly rows: readonly (readonly Cell[])[];
  readonly stats?: Stats | undefined;
}

export interface PartialResult {
  readonly metadata?: Metadata | undefined;
  /** Those of rows, one behind the other. */
  readonly values: readonly Cell[];
  /** Whether the last value goes on in the next part. */
  readonly chunked_value: boolean;
  /** Where the result can be asked for again; empty where it cannot. */
  readonly resume_token: Uint8Array;
}

interface Named {
  readonly name: string;
}
const NAMED = messageType<Named>({ name: one(1, 'string') });

interface InDatabase {
  readonly database: string;
}

interface Began {
  readonly id: Uint8Array;
}

const spanner = '/google.spanner.v1.Spanner';

export const CREATE_SESSION: Method<InDatabase, Named> = {
  path: `${spanner}/CreateSession`,
  request: messageType<InDatabase>({ database: one(1, 'string') }),
  answer: NAMED,
};

export const DELETE_SESSION: Method<Named, object> = {
  path: `${spanner}/DeleteSession`,
  request: NAMED,
  answer: EMPTY,
};

export const EXECUTE_SQL: Method<SqlRequest, ResultSet> = {
  path: `${spanner}/ExecuteSql`,
  request: SQL_REQUEST,
  answer: messageType<ResultSet>({
    metadata: told(1, METADATA),
    rows: some(2, LIST),
    stats: told(3, STATS),
  }),
};

export const EXECUTE_STREAMING_SQL: Method<SqlRequest, PartialResult> = {
  path: `${spanner}/ExecuteStreamingSql`,
  request: SQL_REQUEST,
  answer: messageType<PartialResult>({
    metadata: told(1, METADATA),
    values: some(2, VALUE),
    chunked_value: one(3, 'bool'),
    resume_token: one(4, 'bytes'),
  }),
};

interface BeginRequest {
  readonly session: string;
  readonly options: TransactionOptions;
}

export const BEGIN_TRANSACTION: Method<BeginRequest, Began> = {
  path: `${spanner}/BeginTransaction`,
  request: messageType<BeginRequest>({ session: one(1, 'string'), options: one(2, OPTIONS) }),
  answer: messageType<Began>({ id: one(1, 'bytes') }),
};

export interface Write {
  readonly table: string;
  readonly columns: readonly string[];
  readonly values: readonly (readonly Cell[])[];
}

export interface Delete {
  readonly table: string;
  readonly key_set: { readonly keys: readonly (readonly Cell[])[] };
}

/** Of these exactly one. */
export interface Mutation {
  readonly insert?: Write;
  readonly insert_or_update?: Write;
  readonly delete?: Delete;
}

const WRITE = messageType<Write>({
  table: one(1, 'string'),
  columns: some(2, 'string'),
  values: some(3, LIST),
});

const MUTATION = messageType<Mutation>({
  insert: told(1, WRITE),
  insert_or_update: told(3, WRITE),
  delete: told(
    5,
    messageType<Delete>({
      table: one(1, 'string'),
      key_set: one(2, messageType<Delete['key_set']>({ keys: some(1, LIST) })),
    }),
  ),
});

interface CommitRequest {
  readonly session: string;
  readonly transaction_id: Uint8Array;
  readonly mutations: readonly Mutation[];
}

export const COMMIT: Method<CommitRequest, object> = {
  path: `${spanner}/Commit`,
  request: messageType<CommitRequest>({
    session: one(1, 'string'),
    transaction_id: one(2, 'bytes'),
    mutations: some(4, MUTATION),
  }),
  answer: EMPTY,
};

interface RollbackRequest {
  readonly session: string;
  readonly transaction_id: Uint8Array;
}

export const ROLLBACK: Method<RollbackRequest, object> = {
  path: `${spanner}/Rollback`,
  request: messageType<RollbackRequest>({
    session: one(1, 'string'),
    transaction_id: one(2, 'bytes'),
  }),
  answer: EMPTY,
};

export interface Operation {
  readonly name: string;
  readonly done: boolean;
  readonly error?: { readonly code: number; readonly message: string } | undefined;
}

const OPERATION = messageType<Operation>({
  name: one(1, 'string'),
  done: one(3, 'bool'),
  error: told(4, messageType({ code: one(1, 'int32'), message: one(2, 'string') })),
});

const admin = '/google.spanner.admin.database.v1.DatabaseAdmin';

interface DdlRequest {
  readonly database: string;
  readonly statements: readonly string[];
}

export const UPDATE_DDL: Method<DdlRequest, Operation> = {
  path: `${admin}/UpdateDatabaseDdl`,
  request: messageType<DdlRequest>({ database: one(1, 'string'), statements: some(2, 'string') }),
  answer: OPERATION,
};

export const GET_OPERATION: Method<Named, Operation> = {
  path: '/google.longrunning.Operations/GetOperation',
  request: NAMED,
  answer: OPERATION,
};
