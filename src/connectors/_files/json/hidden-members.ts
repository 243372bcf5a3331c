import type { Log } from '../../../lib/log.ts';

/** Looking at a line costs a twelfth of parsing it: after the first ones, one of so many is looked at. */
const ALWAYS = 1000;
const THEN_EACH = 16;

/** Lines with two members of one name: only the last is a field of the record. */
export class HiddenMembers {
  readonly #name: string;
  readonly #log: Pick<Log, 'warn'>;
  #count = 0;
  /** A page that cannot be read as columns is read again as records. */
  #last = 0;
  #isSample = false;

  constructor(name: string, log: Pick<Log, 'warn'>) {
    this.#name = name;
    this.#log = log;
  }

  /** `line` counts from 1. */
  looksAt(line: number): boolean {
    if (this.#count > 0 || line <= ALWAYS) return true;
    this.#isSample = true;
    return line % THEN_EACH === 0;
  }

  see(line: number): void {
    if (line <= this.#last) return;
    this.#last = line;
    this.#count += 1;
    if (this.#count > 1) return;
    this.#log.warn('a record has two members of one name: the last one counts', {
      path: this.#name,
      line,
      hint: 'have each name written once; further lines are only counted',
    });
  }

  /** To be called when all lines are read. */
  end(): void {
    if (this.#count < 2) return;
    this.#log.warn('records had two members of one name: the last one counted', {
      path: this.#name,
      [this.#isSample ? 'records_at_least' : 'records']: this.#count,
    });
  }
}
