/** Turns the events of the log into pages of transactions. */
import type { Log } from '../../../lib/log.ts';
import { AppError, ConnectorError } from '../../../lib/errors.ts';
import type { TransactionPages } from '../../_cdc/transaction-pages.ts';
import { EventReader, unreadable, type LogEvent } from './events.ts';
import { holds, type GtidSet } from './gtid-set.ts';
import { FIRST_POS, formatPosition, type BinlogPosition } from './position.ts';
import { changeRecord, changeSchema, schemaRecord, type Change, type Place } from './records.ts';
import { PartialRow, readRows } from './rows.ts';
import { statementOf, type Statement } from './statements.ts';
import { TableFilter, type FilterConfig } from './table-filter.ts';
import { tableIdOf, type TableName } from './table-map.ts';
import { Tables, type LogTable, type TableQuestions } from './tables.ts';

export interface ChangeReaderOptions {
  readonly config: FilterConfig & {
    readonly include_columns: boolean;
    readonly emit_schema_changes: boolean;
  };
  readonly pages: TransactionPages<BinlogPosition>;
  readonly questions: TableQuestions;
  readonly log: Log;
  /** Transactions that were there before the first that is wanted. */
  readonly before: GtidSet | undefined;
}

const OPS = { insert: 'c', update: 'u', delete: 'd' } as const;

export class ChangeReader {
  readonly #options: ChangeReaderOptions;
  readonly #filter: TableFilter;
  readonly #tables: Tables;
  #events = new EventReader();
  #file = '';
  #transactions = 0;
  /** Whether the open transaction ends with a commit, and not with its one statement. */
  #isGroup = false;
  #isSkipped = false;
  /** Changes of the open transaction. */
  #changes = 0;
  /** A commit behind four gigabytes, whose position no event can say, waits for the next file. */
  #isBeyond = false;
  #timeMs: number | undefined;

  constructor(options: ChangeReaderOptions) {
    this.#options = options;
    this.#filter = new TableFilter(options.config);
    const { questions, log, config } = options;
    this.#tables = new Tables({ questions, log, tellsSchemas: config.emit_schema_changes });
  }

  /** When the last event was logged. */
  get timeMs(): number | undefined {
    return this.#timeMs;
  }

  /** A new connection begins behind the last complete transaction. */
  startOver(): void {
    this.#events = new EventReader();
    this.#tables.forget();
    this.#leave();
  }

  /** A promise only where the server has to be asked for a table. */
  read(bytes: Buffer): Promise<void> | undefined {
    try {
      return this.#apply(this.#events.read(bytes))?.catch((error: unknown) => {
        throw this.#placed(error);
      });
    } catch (error) {
      throw this.#placed(error);
    }
  }

  #placed(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (!(error instanceof RangeError)) return error;
    return unreadable(`${error.message} (in \`${this.#file}\`)`, error);
  }

  #apply(event: LogEvent): Promise<void> | undefined {
    if (event.timeMs > 0) this.#timeMs = event.timeMs;
    switch (event.kind) {
      case 'begin':
        return this.#begin(event);
      case 'table':
        if (this.#isSkipped) return undefined;
        this.#open(event);
        return this.#tables.learn(event.body, {
          isMariadb: this.#events.isMariadb,
          isRead: (name) => this.#filter.reads(name),
        });
      case 'rows':
        return this.#addRows(event);
      case 'query':
        return this.#query(event);
      case 'commit':
        return this.#commit(event);
      case 'prepare':
        if (!event.isCommit) this.#refuseIfChanged(PREPARED);
        return this.#commit(event);
      case 'rotate':
        return this.#rotate(event);
      case 'start_of_file':
        return this.#startFile(event);
      case 'passed':
        return this.#pass(event);
      default:
        return event satisfies never;
    }
  }

  #begin({ gtid, group, ...event }: Extract<LogEvent, { kind: 'begin' }>): undefined {
    const { before, pages } = this.#options;
    pages.begin(this.#keyOf(event));
    this.#changes = 0;
    this.#isGroup = group === 'until_commit';
    this.#isSkipped = before !== undefined && gtid !== undefined && holds(before, gtid);
  }

  /** Older servers do not announce a transaction; the first event of it begins it. */
  #open(event: Pick<LogEvent, 'end' | 'size'>): void {
    const { pages } = this.#options;
    if (pages.isOpen) return;
    pages.begin(this.#keyOf(event));
    this.#changes = 0;
  }

  /** Where it begins: the same whenever it is read. */
  #keyOf({ end, size }: Pick<LogEvent, 'end' | 'size'>): string {
    return formatPosition({ file: this.#file, pos: end - size });
  }

  #addRows({ rows, body, ...event }: Extract<LogEvent, { kind: 'rows' }>): undefined {
    if (this.#isSkipped) return;
    const table = this.#tables.get(tableIdOf(body));
    if (table === undefined) return;
    const { config } = this.#options;
    const op = OPS[rows.operation];
    try {
      for (const { before, after, size } of readRows(body, rows, table)) {
        const shown = config.include_columns ? before : null;
        const change = { op, name: table.name, before: shown, after };
        this.#add(change, table, { event, size });
      }
    } catch (error) {
      throw error instanceof PartialRow ? partialRow(table.name) : error;
    }
  }

  #add(
    change: Change,
    { frame, changes }: LogTable,
    { event, size }: { readonly event: Pick<LogEvent, 'end' | 'timeMs'>; readonly size: number },
  ): void {
    this.#changes += 1;
    const record = this.#told(changeRecord(change, this.#placeOf(event)));
    this.#options.pages.add(record, frame + size, changes);
  }

  /** All records have the same fields. */
  #told<T extends object>(record: T): T {
    return this.#options.config.emit_schema_changes ? { ...record, ddl: null } : record;
  }

  #placeOf({ end, timeMs }: Pick<LogEvent, 'end' | 'timeMs'>): Place {
    return { at: { file: this.#file, pos: end }, transaction: this.#transactions, timeMs };
  }

  #query({ schema, sql, ...event }: Extract<LogEvent, { kind: 'query' }>): undefined {
    const statement = statementOf(sql, schema);
    switch (statement.kind) {
      case 'begin':
        this.#open(event);
        this.#isGroup = true;
        break;
      case 'savepoint':
        break;
      case 'rollback_to':
        this.#refuseIfChanged(ROLLED_BACK);
        break;
      case 'rollback':
        this.#refuseIfChanged(ROLLED_BACK);
        this.#commit(event);
        break;
      case 'commit':
        this.#commit(event);
        break;
      default:
        this.#open(event);
        if (!this.#isSkipped) this.#takeStatement(statement, { schema, sql, ...event });
        if (!this.#isGroup) this.#commit(event);
    }
  }

  #takeStatement(
    statement: Statement,
    { schema, sql, ...event }: Omit<Extract<LogEvent, { kind: 'query' }>, 'kind'>,
  ): void {
    if (statement.kind === 'rows') {
      if (this.#filter.mayConcern(schema, sql)) throw loggedAsStatement(schema);
      return;
    }
    if (statement.kind !== 'schema') return;
    this.#tables.forget();
    if (!this.#options.config.emit_schema_changes) return;
    const { target } = statement;
    const isTold =
      target === undefined ? this.#filter.mayConcern(schema, sql) : this.#filter.reads(target);
    if (!isTold) return;
    const change = { schema: target?.schema ?? schema, table: target?.table ?? null, sql };
    this.#changes += 1;
    this.#options.pages.add(
      schemaRecord(change, this.#placeOf(event)),
      sql.length + STATEMENT_BYTES,
      changeSchema(true),
    );
  }

  #commit({ end }: Pick<LogEvent, 'end'>): undefined {
    const { pages } = this.#options;
    if (!pages.isOpen) return;
    if (this.#isWrapped(end)) {
      this.#isBeyond = true;
      return;
    }
    pages.commit({ file: this.#file, pos: end });
    this.#leave();
  }

  /** Positions have 32 bits; a transaction that ends behind them is the last of its file. */
  #isWrapped(end: number): boolean {
    const { position } = this.#options.pages;
    return position !== undefined && position.file === this.#file && end < position.pos;
  }

  #leave(): void {
    this.#transactions += this.#changes > 0 ? 1 : 0;
    this.#changes = 0;
    this.#isGroup = false;
    this.#isSkipped = false;
    this.#isBeyond = false;
  }

  #rotate({ file, pos, end }: Extract<LogEvent, { kind: 'rotate' }>): undefined {
    const { pages } = this.#options;
    if (end === 0) {
      this.#file = file;
      return;
    }
    if (this.#isBeyond) {
      pages.commit({ file, pos: FIRST_POS });
      this.#leave();
    }
    this.#file = file;
    pages.pass({ file, pos });
  }

  /** The server stopped in the middle of a transaction, which then did not happen. */
  #startFile({ end }: Pick<LogEvent, 'end'>): undefined {
    const { pages } = this.#options;
    if (end === 0) return;
    this.#tables.forget();
    if (!pages.isOpen) return;
    if (pages.hasGivenOfOpen)
      throw new ConnectorError(
        'data',
        'the server stopped in the middle of a transaction, a part of which was given already',
        {
          hint: 'raise `batch_size`, so that the transaction comes in one page, and run again',
        },
      );
    pages.startOver();
    this.#leave();
  }

  #pass({ end }: Pick<LogEvent, 'end'>): undefined {
    if (end === 0 || this.#file === '') return;
    this.#options.pages.pass({ file: this.#file, pos: end });
  }

  #refuseIfChanged(what: Refusal): void {
    if (this.#changes === 0) return;
    throw new ConnectorError('refused', what.message, { hint: what.hint });
  }
}

/** Besides the text of a statement. */
const STATEMENT_BYTES = 160;

interface Refusal {
  readonly message: string;
  readonly hint: string;
}

const PREPARED: Refusal = {
  message:
    'an XA transaction was prepared and not committed: its changes are in the log, whether they will happen or not',
  hint: 'leave out its tables (`exclude_tables`), or change them without XA',
};
const ROLLED_BACK: Refusal = {
  message:
    'a transaction was rolled back after its changes came into the log, as happens where a table has an engine without transactions',
  hint: 'convert those tables to InnoDB, remove the bookmark, and load the tables anew',
};

function partialRow({ schema, table }: TableName): ConnectorError {
  return new ConnectorError(
    'refused',
    `a change of \`${schema}.${table}\` was logged without all columns of the row`,
    {
      hint: 'set binlog_row_image = FULL in all sessions, remove the bookmark, and load the tables anew',
    },
  );
}

function loggedAsStatement(schema: string): ConnectorError {
  return new ConnectorError(
    'refused',
    `a change in \`${schema}\` was logged as a statement, not as rows`,
    {
      hint: 'set binlog_format = ROW in all sessions, remove the bookmark, and load the tables anew',
    },
  );
}
