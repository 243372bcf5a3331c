import type { Log } from '../../../lib/log.ts';
import { hasHiddenMembers } from '../../../lib/text/json-literal.ts';
import { HALF_CHARACTER, holdsHalfCharacter } from '../../../lib/text/half-character.ts';
import type { JsonValue } from '../../../lib/text/json.ts';

/** Looking at a line costs a twelfth of parsing it: after the first ones, one of so many is looked at. */
const ALWAYS = 1000;
const THEN_EACH = 16;

/** Lines that are JSON, and that may not be what was meant: the first one is told, all are counted. */
export class LineDoubts {
  readonly #members: Doubt;
  readonly #halves: Doubt;
  #isSample = false;

  /** `name` is that of the file. */
  constructor(name: string, log: Pick<Log, 'warn'>) {
    this.#members = new Doubt(name, log, {
      one: 'a record has two members of one name: the last one counts',
      all: 'records had two members of one name: the last one counted',
      hint: 'have each name written once',
    });
    this.#halves = new Doubt(name, log, HALF_CHARACTER);
  }

  /** `line` counts from 1. */
  look(text: string, value: JsonValue, line: number): void {
    if (this.#looksForMembers(line) && hasHiddenMembers(text, value)) this.#members.see(line);
    if (holdsHalfCharacter(text, value)) this.#halves.see(line);
  }

  /** To be called when all lines are read. */
  end(): void {
    this.#members.end(this.#isSample ? 'records_at_least' : 'records');
    this.#halves.end('records');
  }

  #looksForMembers(line: number): boolean {
    if (this.#members.count > 0 || line <= ALWAYS) return true;
    this.#isSample = true;
    return line % THEN_EACH === 0;
  }
}

interface Says {
  readonly one: string;
  readonly all: string;
  readonly hint: string;
}

class Doubt {
  readonly #name: string;
  readonly #log: Pick<Log, 'warn'>;
  readonly #says: Says;
  #count = 0;
  /** A page that cannot be read as columns is read again as records. */
  #last = 0;

  constructor(name: string, log: Pick<Log, 'warn'>, says: Says) {
    this.#name = name;
    this.#log = log;
    this.#says = says;
  }

  get count(): number {
    return this.#count;
  }

  see(line: number): void {
    if (line <= this.#last) return;
    this.#last = line;
    this.#count += 1;
    if (this.#count > 1) return;
    const { one, hint } = this.#says;
    this.#log.warn(one, {
      path: this.#name,
      line,
      hint: `${hint}; further lines are only counted`,
    });
  }

  end(counted: 'records' | 'records_at_least'): void {
    if (this.#count < 2) return;
    this.#log.warn(this.#says.all, { path: this.#name, [counted]: this.#count });
  }
}
