/**
 * `headgate/kit`: what a connector in a package of its own is written with
 * (`docs/guide/connectors.md`). The comments of these declarations are the contract. Connectors of
 * this build import the files themselves.
 */

/** The schema library, in the version that reads the configs: declare them with this one. */
export { z } from 'zod';

export { defineConnector, KIT_VERSION, type Connector } from './connector.ts';

export {
  defineSource,
  type ColumnHolds,
  type Discovered,
  type ReadRequest,
  type ResultColumn,
  type ResultShape,
  type Source,
  type SourceCapabilities,
  type SourceDefinition,
  type SourceLag,
  type Unbounded,
} from './source.ts';
export { isInShare, type Share } from './share.ts';

export {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type AddedColumn,
  type ColumnType,
  type DestinationColumn,
  type FinishReason,
  type ReadBack,
  type Rejection,
  type SchemaAccess,
  type SchemaChange,
  type Sink,
  type SinkCapabilities,
  type SinkDefinition,
  type Sweep,
  type TokenWriter,
  type WriteMode,
  type WriteOptions,
  type WriteResult,
} from './sink.ts';

// What `open` and `probe` are given.
export type {
  Credential,
  CredentialProvider,
  Credentials,
  PartContext,
  Progress,
  RetryPolicy,
  SinkContext,
  SourceContext,
} from './context.ts';
export type { Probe, ProbeFinding } from './probe.ts';

// Pages, and how large they may be.
export { JSON_LINES } from './json-lines.ts';
export { learningWriter, recordWriter, type WriteRecord } from './record-text.ts';
export {
  COLUMNS_LANE,
  Page,
  RECORDS_LANE,
  type Encoding,
  type Lane,
  type PageOptions,
} from './page.ts';
export { fits, isFull, pageBounds, PageFill, type PageBounds } from './page-bounds.ts';
export { columnSize, encodedSize } from './rough-size.ts';
export { readBookmark, type StoredBookmark } from './stored-bookmark.ts';

// Fields of configs.
export {
  batchSize,
  boolean,
  check,
  finding,
  integer,
  json,
  nullAsAbsent,
  number,
  optional,
  text,
  type FieldMeta,
} from './schema.ts';
export { otherName } from './other-name.ts';

// Types of fields.
export { declaredColumns, encodingsOf, inferTypes, type TypesConfig } from './declared-columns.ts';
export {
  fieldOf,
  orderOf,
  type DecimalType,
  type RecordField,
  type RecordSchema,
  type RecordType,
  type TimeUnit,
} from './record-schema.ts';
export { parseType, schemaText, typeText } from './type-text.ts';
export { pagesWithTypes, typedRecord, typedSource } from './typed-pages.ts';
export { columnTypeFor, hasTypeForm, holdsFor, isBase64, NOT_FINITE } from './typed-values.ts';

// Sinks with keys, and commits that are numbered.
export {
  executionScope,
  executionText,
  isLater,
  movedError,
  TAKEN_OVER,
  takenOverError,
} from './execution.ts';
export type { Execution } from './execution.ts';
export {
  checkWriteFields,
  isKeyed,
  keyedSpec,
  planKeyedPage,
  settle,
  writeFields,
  type KeyedPlan,
  type KeyedSpec,
  type WriteFields,
} from './write-spec.ts';

// Records that cannot be read.
export {
  onReadError,
  rejectingLane,
  unreadText,
  type OnReadError,
  type RecordPlace,
  type RejectedRecord,
  type UnreadRecord,
} from './rejected-record.ts';

// Pages of cells that lie in shared bytes.
export { ByteWriter } from './byte-writer.ts';
export { CellMarks } from './cell-marks.ts';
export { ColumnBuilder, isExactInCells, readText, valuesOf } from './cells.ts';
export { readRecords } from './column-records.ts';
export {
  Columns,
  ESCAPED,
  FALSE,
  MISSING,
  NESTED,
  NULL,
  NUMBER,
  TEXT,
  TRUE,
  type Column,
} from './columns.ts';
export { BYTE_ORDER_MARK, CARRIAGE_RETURN, LINE_FEED, type CsvDialect } from './csv-dialect.ts';

// Errors and values.
export {
  AppError,
  ConnectorError,
  isTransient,
  messageOf,
  RecordError,
  TRANSIENT_KINDS,
  type ConnectorErrorKind,
  type Issue,
} from '../lib/errors.ts';
export { FileRefusedError, permittedFile } from '../lib/files/file-access.ts';
export { fileToWrite, type WrittenFile } from '../lib/files/written-file.ts';
export {
  hasField,
  isObject,
  jsonEqual,
  jsonFault,
  jsonHint,
  jsonText,
  parseData,
  parseJson,
  setField,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../lib/text/json.ts';
// Numbers that a text writes in another way than we would: they keep it.
export {
  hasSpellings,
  ownSpelling,
  rememberSpelling,
  spellingOf,
} from '../lib/text/number-spelling.ts';

// What `headgate conformance` is told about a connector.
export type { Destination, Encode, SinkFixture } from './sink-fixture.ts';
export type { Overlap, SourceFixture, Upstream } from './source-fixture.ts';
