import { RunError } from '../../lib/errors.ts';
import type { Balance, WithheldReason } from '../../wire/outcome.ts';

/** Counts where every record of an invocation went. */
export class Tally {
  read = 0;
  filtered = 0;
  expanded = 0;
  transformed = 0;
  written = 0;
  deadLettered = 0;
  /** Records that break a contract which only warns. */
  breaches = 0;
  bytes = 0;
  pages = 0;
  /** How many records had a field that was not written, by name. */
  readonly unknownFields = new Map<string, number>();
  /** How many values of a field the destination does not hold exactly, by name. */
  readonly roundedFields = new Map<string, number>();
  /** Lanes in which pages were read: a source may leave the planned one for its data. */
  readonly lanes = new Set<string>();
  /** Of those written, the ones that are known to be durable. */
  #durable = 0;
  readonly #withheld = new Map<WithheldReason, number>();

  get withheld(): number {
    let sum = 0;
    for (const count of this.#withheld.values()) sum += count;
    return sum;
  }

  get withheldBy(): Partial<Record<WithheldReason, number>> {
    return Object.fromEntries(this.#withheld);
  }

  withhold(reason: WithheldReason, count: number): void {
    if (count > 0) this.#withheld.set(reason, (this.#withheld.get(reason) ?? 0) + count);
  }

  /** Everything written so far is durable. */
  settle(): void {
    this.#durable = this.written;
  }

  /**
   * What was written since the last durable flush is lost or in doubt: the source gives it again.
   */
  unsettle(): void {
    this.withhold('undurable', this.written - this.#durable);
    this.written = this.#durable;
  }

  /** Nothing of what was written is kept. */
  discard(): void {
    this.withhold('discarded', this.written);
    this.written = 0;
  }

  balance(): Balance {
    return {
      read: this.read,
      filtered: this.filtered,
      expanded: this.expanded,
      transformed: this.transformed,
      written: this.written,
      dead_lettered: this.deadLettered,
      withheld: this.withheld,
    };
  }

  /** A success whose records do not add up is no success. */
  assertClosed(): void {
    const came = this.read - this.filtered + this.expanded;
    const went = this.written + this.deadLettered + this.withheld;
    if (came === this.transformed && went === this.transformed) return;
    throw new RunError(
      'Custom',
      'balance_open',
      `the records do not add up: ${this.read} read - ${this.filtered} filtered + ${this.expanded} expanded = ${came}, ` +
        `${this.transformed} left the transforms, ${this.written} written + ${this.deadLettered} dead-lettered + ${this.withheld} withheld = ${went}`,
      {
        hint: 'some records are unaccounted for; do not trust the destination before `headgate verify` or a re-run',
      },
    );
  }
}
