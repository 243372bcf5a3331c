/** What the engine refuses, in words of ours with what to do. Its own words stand behind. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { redactUri } from '../http/redact-uri.ts';

interface Fault {
  /** Of the engine's message, which begins with the name of a part of it. */
  readonly pattern: RegExp;
  /** `data` when absent. */
  readonly kind?: ConnectorErrorKind;
  readonly says: string;
  readonly hint: string;
}

/** The first that matches counts. */
const FAULTS: readonly Fault[] = [
  {
    pattern: /^IO Error: .*No space left/,
    kind: 'refused',
    says: 'the disk is full',
    hint: 'make room on the disk, and run again',
  },
  {
    pattern: /^IO Error: .*(?:Permission denied|Read-only)/,
    kind: 'refused',
    says: 'the rights on a file do not allow it',
    hint: 'check the rights on the file and its folder',
  },
  {
    pattern: /^IO Error: .*lock/,
    kind: 'connection',
    says: 'the database is locked',
    hint: 'another process has the database open; end it, or open it read only',
  },
  {
    pattern: /^IO Error: .*(?:version number|newer version|storage version)/,
    kind: 'connection',
    says: 'the file has another storage version',
    hint: 'another version of DuckDB wrote the file: export it there (`EXPORT DATABASE`), or write it in an older storage version',
  },
  {
    pattern: /^IO Error: .*(?:does not exist|No such file|No files found)/,
    kind: 'missing',
    says: 'a file does not exist',
    hint: 'check the path, and from which folder it counts',
  },
  {
    pattern: /^(?:IO|Connection) Error/,
    kind: 'connection',
    says: 'a file cannot be opened',
    hint: 'check the path, that the file is a database of DuckDB, and the rights on it and its folder',
  },
  {
    pattern: /^Extension|^HTTP Error/,
    kind: 'connection',
    says: 'the statement needs what is not on this machine',
    hint: 'install the extension with DuckDB (`INSTALL httpfs`), or read the files with a source of their own',
  },
  {
    pattern: /^Catalog Error: Table.*does not exist/,
    kind: 'missing',
    says: 'there is no such table',
    hint: 'check the name of the table, and that the path is that of the right database',
  },
  {
    pattern: /^Catalog Error: .*Function.*does not exist/,
    kind: 'missing',
    says: 'there is no such function',
    hint: 'check the name of the function',
  },
  {
    pattern: /^Catalog Error: .*does not exist/,
    kind: 'missing',
    says: 'the statement names what does not exist',
    hint: 'check the name that is quoted',
  },
  {
    pattern: /^Binder Error: .*(?:not found in FROM clause|FROM clause is missing)/,
    kind: 'missing',
    says: 'there is no such column',
    hint: 'check the name of the column; a text stands in single quotes',
  },
  {
    pattern: /^(?:Binder|Catalog) Error/,
    says: 'the statement does not fit the tables',
    hint: 'correct the statement: names and types of columns and arguments',
  },
  {
    pattern: /^Parser Error/,
    says: 'the statement is not valid SQL',
    hint: 'correct the statement at the word that is named',
  },
  {
    pattern: /^Permission Error|read-only/,
    kind: 'refused',
    says: 'it is not allowed',
    hint: 'a database that is opened read only is not written, and statements reach only files that this process may read',
  },
  {
    pattern: /^INTERRUPT Error/,
    kind: 'timeout',
    says: 'the statement was interrupted',
    hint: 'run it again',
  },
  {
    pattern: /Map keys must be unique/,
    says: 'a map has a key twice',
    hint: 'make its keys differ, or keep the field as text (`json_encode`)',
  },
  {
    pattern: /^(?:Conversion|Invalid Input|Invalid Type|Mismatch Type|Out of Range) Error/,
    says: 'a value does not fit its type',
    hint: 'correct the value at the source, or convert it with `cast` and `on_error: dlq`',
  },
  {
    pattern: /^Constraint Error: NOT NULL/,
    says: 'a value is missing where the column takes no null',
    hint: 'give the field a value (`coalesce`, `set`), or the column a default',
  },
  {
    pattern: /^Constraint Error: .*(?:Duplicate key|unique)/i,
    says: 'a key is there already',
    hint: 'write with `write_mode: upsert` and a `key`, or remove the row that has the key',
  },
  {
    pattern: /^Constraint Error/,
    says: 'a value breaks a rule of the table',
    hint: 'correct the value, or the rule (`CHECK`, foreign key) of the table',
  },
  {
    pattern: /^Out of Memory Error/,
    says: 'the memory is not enough',
    hint: 'give the engine more memory, or read less at a time',
  },
  {
    pattern: /^TransactionContext Error/,
    kind: 'timeout',
    says: 'another connection changes the same rows',
    hint: 'run again when it has ended',
  },
  {
    pattern: /^Not implemented Error/,
    says: 'DuckDB has no such operation',
    hint: 'write the statement, or the type of the column, in another way',
  },
];

const UNKNOWN: Omit<Fault, 'pattern'> = {
  says: 'the engine failed',
  hint: 'see what DuckDB says, and correct the statement or the data',
};

/** Turns an error of the engine into a `ConnectorError`; our own errors pass unchanged. */
export function duckdbError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const text = firstLine(messageOf(error)).replace(/^Failed to extract statements: /, '');
  const fault = FAULTS.find(({ pattern }) => pattern.test(text)) ?? UNKNOWN;
  const column = COLUMN.exec(text);
  const where = column === null ? '' : ` in the column ${column[1]}`;
  return new ConnectorError(
    fault.kind ?? 'data',
    `${doing}: ${fault.says}${where} (DuckDB: ${detailOf(text)})`,
    { hint: fault.hint, cause: error },
  );
}

/** The column of a value, where it is known. */
const COLUMN = / \(column (".*")\)$/;
/** The name of the part of the engine that failed, which nobody else knows. */
const ERROR_CLASS = /^[A-Z]\w*(?: \w+)* Error: /;
const ADDRESS = /\b[\w+.-]+:\/\/[^\s"']+/g;
const DETAIL_CHARS = 400;

function detailOf(text: string): string {
  const detail = text.replace(COLUMN, '').replace(ERROR_CLASS, '').replaceAll(ADDRESS, redactUri);
  return detail.length > DETAIL_CHARS ? `${detail.slice(0, DETAIL_CHARS)}…` : detail;
}

/** The engine draws the statement below its message. */
export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
