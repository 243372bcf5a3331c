/**
 * The fast implementations that replace a plain one. The plain one is complete, gives the same
 * result, and is the one to read first; one line there chooses the fast one. `node bench/fast.ts`
 * measures what each gains, and docs/performance.md has the figures.
 */

export interface FastPath {
  /** What `HEADGATE_PLAIN` calls it. */
  readonly name: string;
  readonly does: string;
  /** Where the choice between it and its plain twin is made. */
  readonly chosenIn: string;
  /** The move of the benchmark that it was made for. */
  readonly move: string;
  /** Whether the fast implementation is to be used. */
  isOn(): boolean;
}

/**
 * Names, separated by commas, of fast paths to switch off: for the benchmark, and for finding out
 * whether a fast path causes a wrong value.
 */
export const PLAIN_VARIABLE = 'HEADGATE_PLAIN';

/** The minimum gain of a fast path in its move; one with less is removed. */
export const LEAST_GAIN = 1.2;

function defineFastPath(path: Omit<FastPath, 'isOn'>): FastPath {
  const isOn = !(process.env[PLAIN_VARIABLE] ?? '').split(',').includes(path.name);
  return Object.freeze({ ...path, isOn: () => isOn });
}

/** In a file of their own, so that choosing loads nothing of what is not chosen. */
export const csvLines = defineFastPath({
  name: 'csv-lines',
  does: 'finds the cells of delimited text and writes them as JSON Lines in one pass of WebAssembly',
  chosenIn: 'connectors/_files/csv/csv-pages.ts',
  move: 'csv-jsonl',
});

export const shortDigests = defineFastPath({
  name: 'short-digests',
  does: 'takes SHA-256 of four short texts at once in WebAssembly',
  chosenIn: 'engine/stages/masking-actions.ts',
  move: 'csv-jsonl-governed',
});

export const textRows = defineFastPath({
  name: 'text-rows',
  does: 'hands texts to the analytical engine as one block of bytes and their places in it',
  chosenIn: 'connectors/_files/parquet/parquet-engine-writer.ts',
  move: 'csv-parquet',
});

export const attachCopy = defineFastPath({
  name: 'sqlite-attach',
  does: 'names rows by ranges of their ids, and has SQLite fetch them from the attached file',
  chosenIn: 'connectors/sqlite/source.ts',
  move: 'sqlite-sqlite',
});

export const copyLines = defineFastPath({
  name: 'copy-lines',
  does: 'turns rows of COPY text into JSON Lines, or cells, byte by byte',
  chosenIn: 'connectors/_sql/copy-text/collectors.ts',
  move: 'postgres-jsonl',
});

export const copyCells = defineFastPath({
  name: 'copy-cells',
  does: 'writes cells of columns as text for COPY and LOAD DATA without making records',
  chosenIn: 'connectors/postgres/write/copy-plan.ts',
  move: 'csv-postgres',
});

export const copyBinary = defineFastPath({
  name: 'copy-binary',
  does: 'passes binary rows of COPY from one server to another as they came',
  chosenIn: 'connectors/postgres/source.ts',
  move: 'postgres-postgres',
});

export const rowLines = defineFastPath({
  name: 'row-lines',
  does: 'writes JSON Lines from the packets of a result, without text of COPY between',
  chosenIn: 'connectors/mysql/source.ts',
  move: 'mariadb-jsonl',
});

export const messageLines = defineFastPath({
  name: 'message-lines',
  does: 'passes the JSON of messages on as it came, where it would be written in the same bytes again',
  chosenIn: 'connectors/kafka/read/page-maker.ts',
  move: 'kafka-jsonl',
});

export const FAST_PATHS: readonly FastPath[] = Object.freeze([
  csvLines,
  shortDigests,
  textRows,
  attachCopy,
  copyLines,
  copyCells,
  copyBinary,
  messageLines,
  rowLines,
]);
