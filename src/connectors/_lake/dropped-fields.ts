import type { Log } from '../../lib/log.ts';

interface Told {
  /** For the log. */
  readonly table: string;
  readonly log: Log;
}

/** Fields inside of columns that are not written; each is told once. Others are counted by the sink. */
export class DroppedFields {
  readonly #columns: readonly { readonly name: string }[];
  readonly #told: Told;
  readonly #noted = new Set<string>();

  constructor(columns: readonly { readonly name: string }[], told: Told) {
    this.#columns = columns;
    this.#told = told;
  }

  note(field: string): void {
    const isInside = this.#columns.some(
      ({ name }) => field.startsWith(`${name}.`) || field.startsWith(`${name}[`),
    );
    if (!isInside || this.#noted.has(field)) return;
    this.#noted.add(field);
    const { table, log } = this.#told;
    log.warn('a field is not a column and is dropped', { table, field });
  }
}
