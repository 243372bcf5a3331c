/** How many rows may still be fetched, of both sides together. */
export class RowBudget {
  /** A side wanted more than there was. */
  exceeded = false;
  #left: number;

  constructor(rows: number) {
    this.#left = rows;
  }

  /** How many of `rows` may be looked at. */
  take(rows: number): number {
    const allowed = Math.min(rows, this.#left);
    this.#left -= allowed;
    if (allowed < rows) this.exceeded = true;
    return allowed;
  }
}
