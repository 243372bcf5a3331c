/** What the first records of an invocation look like, for observers that ask. */
import { governanceOf } from '../stages/governance.ts';
import type { Page } from '../../kit/page.ts';
import type { ColumnType } from '../../kit/sink.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { METADATA_TYPES } from '../delivery/stamp.ts';
import { FieldTypes } from '../field-types.ts';

export interface ShapeField {
  readonly name: string;
  /** In the order in which they were first seen; none where every value was null. */
  readonly types: readonly ColumnType[];
  /** Whether any record holds null there, or does not have the field. */
  readonly nulls: boolean;
}

/**
 * Names and types of fields in the order of first sight. It has no values, so it may be shown to
 * anybody.
 */
export type RecordShape = readonly ShapeField[];

/** What an invocation read and wrote. */
export interface RowShapes {
  /** By the row, or by the source nodes of a graph. */
  readonly read: ReadonlyMap<string, RecordShape>;
  /** After transforms and masking, with the columns that are put on before the write. */
  readonly written: RecordShape;
}

/**
 * Looks at the first records of the pages it is shown; of a page in any form it takes only those
 * out that it looks at.
 */
export class ShapeSampler {
  readonly #types = new FieldTypes();
  #left: number;

  constructor(records: number) {
    this.#left = records;
  }

  take(page: Page): void {
    if (this.#left === 0 || page.count === 0) return;
    const first = page.slice(0, this.#left);
    this.#left -= first.count;
    try {
      this.#types.add(first.records());
    } catch {
      // A page that cannot be parsed fails where a stage needs its records; a run that copies bytes
      // needs none.
      this.#left = 0;
    }
  }

  shape(): RecordShape {
    return this.#types
      .fields()
      .map(({ name, types, nulls }) => ({ name, types: [...types], nulls }));
  }
}

export interface RowSamplerOptions {
  readonly row: PlannedRow;
  readonly records: number;
  /** The source nodes of a graph, which are looked at where they read. */
  readonly sources?: ReadonlyMap<string, ShapeSampler>;
}

export class RowSampler {
  readonly #row: PlannedRow;
  readonly #sources: ReadonlyMap<string, ShapeSampler>;
  readonly #read: ShapeSampler | undefined;
  readonly #written: ShapeSampler | undefined;

  constructor({ row, records, sources }: RowSamplerOptions) {
    this.#row = row;
    this.#read =
      sources === undefined || !changesRecords(row) ? new ShapeSampler(records) : undefined;
    this.#written = changesRecords(row) ? new ShapeSampler(records) : this.#read;
    this.#sources = sources ?? new Map(this.#read === undefined ? [] : [[row.id, this.#read]]);
  }

  /** A page as it was read. */
  read(page: Page): void {
    this.#read?.take(page);
  }

  /**
   * The page as it goes to the sink. Where nothing can have changed it, it was looked at when it
   * was read.
   */
  written(page: Page): void {
    if (this.#written !== this.#read) this.#written?.take(page);
  }

  shapes(): RowShapes {
    const stamped = (this.#row.metadataColumns ?? []).map(({ column, name }) => ({
      name,
      types: [METADATA_TYPES[column]],
      nulls: false,
    }));
    const written = this.#written?.shape() ?? [];
    const names = new Set(stamped.map(({ name }) => name));
    return {
      read: new Map([...this.#sources].map(([id, sampler]) => [id, sampler.shape()])),
      written:
        written.length === 0 ? [] : [...written.filter(({ name }) => !names.has(name)), ...stamped],
    };
  }
}

function changesRecords(row: PlannedRow): boolean {
  return (
    row.transforms.length > 0 ||
    Object.values(governanceOf(row)).some((block) => block !== undefined)
  );
}
