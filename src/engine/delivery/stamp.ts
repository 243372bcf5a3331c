/** Puts metadata columns on the records of a page, as the last thing before the sink takes it. */
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { MetadataColumn, NamedColumn } from '../../blocks/metadata-columns/schema.ts';
import type { Page } from '../../kit/page.ts';
import { withField, type RecordType } from '../../kit/record-schema.ts';
import { pageSchemaChange, type PageSchemaChange } from '../stages/page-schema.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { PlannedRow } from '../../plan/plan.ts';

export const METADATA_TYPES: Readonly<Record<MetadataColumn, ColumnType>> = {
  extracted_at: 'string',
  loaded_at: 'string',
  run_id: 'string',
  source: 'string',
  sequence: 'integer',
};

/** Columns that no record brings, because they are added just before the write. */
export function suppliedColumns({
  metadataColumns,
}: Pick<PlannedRow, 'metadataColumns'>): ReadonlyMap<string, ColumnType> {
  return new Map((metadataColumns ?? []).map(({ column, name }) => [name, METADATA_TYPES[column]]));
}

const LOGICAL_TYPES: Readonly<Record<MetadataColumn, RecordType>> = {
  extracted_at: { kind: 'utf8' },
  loaded_at: { kind: 'utf8' },
  run_id: { kind: 'utf8' },
  source: { kind: 'utf8' },
  sequence: { kind: 'int64' },
};

export interface StampOptions {
  readonly columns: readonly NamedColumn[];
  readonly invocationId: string;
  readonly sourceType: string;
  now(): Date;
}

export class Stamp {
  readonly #options: StampOptions;
  readonly #schemaAfter: PageSchemaChange;
  #sequence = 0;

  constructor(options: StampOptions) {
    this.#options = options;
    this.#schemaAfter = pageSchemaChange(
      options.columns.map(
        ({ column, name }) =>
          (input) =>
            withField(input, { name, type: LOGICAL_TYPES[column], nullable: false }),
      ),
    );
  }

  /**
   * `readAt` is when the page came from the source. Records that are not objects pass as they are,
   * and count in the sequence.
   */
  apply(page: Page, readAt: Date): Page {
    const { columns, invocationId, sourceType } = this.#options;
    const first = this.#sequence;
    this.#sequence += page.count;
    const fixed: Readonly<Record<Exclude<MetadataColumn, 'sequence'>, string>> = {
      extracted_at: readAt.toISOString(),
      loaded_at: this.#options.now().toISOString(),
      run_id: invocationId,
      source: sourceType,
    };
    const stamped = (record: JsonValue, index: number): JsonValue => {
      if (!isObject(record)) return record;
      const copy: JsonObject = { ...record };
      for (const { column, name } of columns)
        setField(copy, name, column === 'sequence' ? first + index : fixed[column]);
      return copy;
    };
    return page.withRecords(page.records().map(stamped)).withSchema(this.#schemaAfter(page.schema));
  }
}
