import { orderOf, type RecordSchema } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';

/** Decides whether a row may have another number of cells than the header. */
export interface WidthRule {
  readonly shape: { readonly flexible: boolean };
  /** What errors call the input. */
  readonly name: string;
}

/**
 * The columns of a file of delimited text: those of its first row, and further ones where longer
 * rows are allowed.
 */
export class CsvColumns {
  readonly names: string[] = [];
  /** Bytes of `"name":` of each column, with the comma before it for all but the first. */
  readonly labelSizes: number[] = [];
  /** False when a name needs special care in assignments (`__proto__`). */
  plainNames = true;
  readonly #known = new Set<string>();
  readonly #file: string;
  #schema: RecordSchema | undefined;
  /** How many columns there were when `#schema` was made. */
  #told = 0;
  /** Cells in the first row. */
  #width = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Adds a column of the first row. */
  add(name: string, line: number): void {
    this.#append(name, line);
    this.#width = this.names.length;
  }

  /**
   * Checks the number of cells in a row and throws when it is not allowed. True when the row has
   * new columns, which are named by their position.
   */
  admit(width: number, line: number, rule: WidthRule): boolean {
    if (width === this.#width) return false;
    if (!rule.shape.flexible) {
      const sentence = `line ${line} of ${rule.name} has ${cellCount(width)}, the first row has ${this.#width}`;
      throw new ConnectorError('data', sentence, {
        hint: 'repair the file, set `flexible: true`, or leave lines above the header out with `skip_rows`',
      });
    }
    const before = this.names.length;
    while (this.names.length < width) this.#append(`column_${this.names.length}`, line);
    return this.names.length > before;
  }

  /** What pages tell of their fields: nothing where records tell the columns and their order. */
  schema(): RecordSchema | undefined {
    if (this.#told !== this.names.length) {
      this.#schema = orderOf(this.names);
      this.#told = this.names.length;
    }
    return this.#schema;
  }

  #append(name: string, line: number): void {
    if (this.#known.has(name)) {
      throw new ConnectorError(
        'data',
        `line ${line} of ${this.#file}: there are two columns called ${JSON.stringify(name)}`,
        {
          hint: 'rename one of them, or set `has_headers: false`',
        },
      );
    }
    this.#known.add(name);
    if (name === '__proto__') this.plainNames = false;
    this.labelSizes.push(
      Buffer.byteLength(JSON.stringify(name)) + (this.names.length === 0 ? 1 : 2),
    );
    this.names.push(name);
  }
}

function cellCount(count: number): string {
  return count === 1 ? '1 cell' : `${count} cells`;
}
