import { readRecord } from '../../kit/column-records.ts';
import type { Columns } from '../../kit/columns.ts';
import type { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { Env } from '../../lib/env.ts';
import type { ErrorKind } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { DeadReason } from '../../wire/dead-reasons.ts';

/** A record on its way to the dead-letter queue. */
export interface DeadRecord {
  readonly kind: ErrorKind;
  readonly reason: DeadReason;
  readonly message: string;
  readonly payload: JsonValue;
  /** Index in the page as it entered the governance stages. */
  readonly index: number;
  /** Behind a transform of pages nobody knows which record of the source it was made of. */
  readonly isBehindPages?: boolean;
  /** Place among the records of the source, from 1, where it is known. */
  readonly number?: number;
  /** The record as it was read, where transforms may have changed it and it is known. */
  readonly original?: JsonValue;
  /** Whether nothing has to be hidden in it any more. */
  readonly isOriginalHidden?: boolean;
  /** What is known of the fields of the payload. */
  readonly schema?: RecordSchema | undefined;
  /** Of a record that the source could not read. */
  readonly unread?: UnreadPosition | undefined;
}

/** Where a record stands that the source could not read. */
export interface UnreadPosition {
  readonly input: string;
  /** Line from 1 and byte from 0, where they are known. */
  readonly line?: number;
  readonly byte?: number;
  /** Number of the page, from 1. */
  readonly page: number;
  /** The bytes of the record, where they are no text. */
  readonly base64?: string | undefined;
}

/** Why each record goes, by its position in the page. */
export type Reasons = ReadonlyMap<number, string>;

/**
 * A page between transforms and sink. A stage looks at its `columns` where there are some, and
 * otherwise at its `records`: asking for those ends the columns for all stages behind it. Stages
 * put other values in place and divert records to `dead`.
 */
export class PageInWork {
  readonly dead: DeadRecord[];
  /** Records that break a contract and stay all the same. */
  breaches = 0;
  /** Fields that were taken out because the destination has no column for them. */
  droppedFields: ReadonlyMap<string, number> | undefined;
  #page: Page;
  /**
   * For each record its index in the page as it entered the stages; nothing was diverted yet when
   * absent.
   */
  #origins: Uint32Array | undefined;

  constructor(page: Page, dead: DeadRecord[]) {
    this.#page = page;
    this.dead = dead;
  }

  get page(): Page {
    return this.#page;
  }

  get count(): number {
    return this.#page.count;
  }

  get columns(): Columns | undefined {
    return this.#page.columns;
  }

  get schema(): RecordSchema | undefined {
    return this.#page.schema;
  }

  /** What is known of the fields from here on. */
  set schema(schema: RecordSchema | undefined) {
    this.#page = this.#page.withSchema(schema);
  }

  set columns(columns: Columns) {
    this.#page = this.#page.withColumns(columns);
  }

  get records(): readonly JsonValue[] {
    if (this.#page.columns !== undefined) this.#page = this.#page.withRecords(this.#page.records());
    return this.#page.records();
  }

  /** As many as before. */
  set records(records: readonly JsonValue[]) {
    this.#page = this.#page.withRecords(records);
  }

  get origins(): Uint32Array | undefined {
    return this.#origins;
  }

  /** The index of a record in the page as it entered the stages. */
  originOf(position: number): number {
    return this.#origins?.[position] ?? position;
  }

  /** Takes records out of the page and puts them to the dead ones. */
  divert(
    reasons: Reasons,
    why: Pick<DeadRecord, 'kind' | 'reason'>,
    dead: DeadRecord[] = this.dead,
  ): void {
    const { columns } = this;
    const records = columns === undefined ? this.records : undefined;
    for (const [position, message] of reasons) {
      const payload =
        columns === undefined ? (records?.[position] ?? null) : readRecord(columns, position);
      dead.push({ ...why, message, payload, index: this.originOf(position) });
    }
    const staying = Uint32Array.from({ length: this.count }, (_, position) => position).filter(
      (position) => !reasons.has(position),
    );
    const origins = staying.map((position) => this.originOf(position));
    if (columns !== undefined)
      this.columns = columns.kept(staying.map((position) => columns.rows[position] ?? 0));
    else this.records = Array.from(staying, (position) => records?.[position] ?? null);
    this.#origins = origins;
  }
}

/**
 * One governance step, compiled once per invocation. Throws `RunError` to end the run without
 * writing the page.
 */
export interface Stage {
  readonly name: string;
  run(page: PageInWork): void | Promise<void>;
  /** Present when it changes the types of fields. */
  schemaAfter?(this: void, input: RecordSchema): RecordSchema;
}

/** What a stage knows of the row it works for. */
export interface StageContext {
  readonly env: Env;
  readonly pipeline: string;
  readonly row: string;
  /** Sink preset name (`default` for the singular block) and connector kind, for `applies_to`. */
  readonly sinkPreset: string;
  readonly sinkType: string;
  /** Set when the records were masked before: they are dead letters. */
  readonly replays?: true;
}

/** The same, but for the world around it. */
export function stagePlace(
  { name }: Pick<Plan, 'name'>,
  row: Pick<PlannedRow, 'id' | 'sink' | 'replays'>,
): Omit<StageContext, 'env'> {
  return {
    pipeline: name,
    row: row.id,
    sinkPreset: row.sink.preset,
    sinkType: row.sink.type,
    ...(row.replays === true ? { replays: true } : {}),
  };
}
