/**
 * The log of a run, which may have millions of lines. Filters look through it piece by piece, so
 * that the page stays usable meanwhile.
 */
import { createStore, type Store } from '../lib/create-store.ts';

export interface LogLine {
  readonly seq: number;
  /** Absent for a line that came live. */
  readonly ts: string | undefined;
  readonly level: string;
  readonly line: string;
}

export const LEVELS = ['all', 'info', 'warn', 'error'] as const;
export type LevelFilter = (typeof LEVELS)[number];

export interface LogFilter {
  readonly text: string;
  readonly level: LevelFilter;
}

const SEVERITY: Readonly<Record<string, number>> = {
  TRACE: 0,
  DEBUG: 1,
  INFO: 2,
  WARN: 3,
  ERROR: 4,
};
const AT_LEAST: Readonly<Record<LevelFilter, number>> = { all: 0, info: 2, warn: 3, error: 4 };
/** Lines between two looks at the clock, and how long one piece of work may take. */
const [PIECE, SLICE_MS] = [1000, 8];

/** Lines as the server sent them: a text that is not taken apart before somebody looks at it. */
interface Page {
  readonly text: string;
  /** Where each line ends. */
  readonly ends: Uint32Array;
  /** Index of its first line in the log. */
  readonly start: number;
}

/** A million lines as objects would stop the page whenever its memory is tidied up. */
export class LogStore {
  readonly #pages: Page[] = [];
  /** Indexes of the lines that pass the filter; undefined: all do. */
  shown: number[] | undefined;
  /** Changes with every change that can be seen. */
  readonly version: Store<number> = createStore(0);
  #length = 0;
  #last: number | undefined;
  #filter: LogFilter = { text: '', level: 'all' };
  #looked = 0;
  #isLooking = false;

  /** Of all lines, whatever the filter. */
  get length(): number {
    return this.#length;
  }

  /** Lines that came live. */
  add(lines: readonly LogLine[]): void {
    this.addText(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }

  /** A line of JSON each. */
  addText(given: string): void {
    const text = withoutBlankLines(given);
    const ends: number[] = [];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) ends.push(at);
    if (ends.length === 0) return;
    const page = { text, ends: Uint32Array.from(ends), start: this.#length };
    this.#pages.push(page);
    this.#length += ends.length;
    this.#last = lineOf(page, ends.length - 1).seq;
    this.#changed();
    void this.#look();
  }

  get count(): number {
    return this.shown?.length ?? this.#length;
  }

  at(index: number): LogLine | undefined {
    const line = this.shown === undefined ? index : (this.shown[index] ?? -1);
    const page = this.#pageOf(line);
    return page === undefined ? undefined : lineOf(page, line - page.start);
  }

  get last(): number | undefined {
    return this.#last;
  }

  /** Everything, for a file. */
  *all(): Generator<LogLine> {
    for (const page of this.#pages) for (const index of page.ends.keys()) yield lineOf(page, index);
  }

  filter(filter: LogFilter): void {
    this.#filter = filter;
    this.#looked = 0;
    this.shown = filter.text === '' && filter.level === 'all' ? undefined : [];
    this.#changed();
    void this.#look();
  }

  #pageOf(line: number): Page | undefined {
    if (line < 0 || line >= this.#length) return undefined;
    let [low, high] = [0, this.#pages.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#pages[middle]?.start ?? 0) <= line) low = middle;
      else high = middle - 1;
    }
    return this.#pages[low];
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let until = performance.now() + SLICE_MS;
    while (this.shown !== undefined && this.#looked < this.#length) {
      this.#lookAtPiece(this.shown);
      if (performance.now() < until) continue;
      this.#changed();
      await new Promise((resolve) => setTimeout(resolve));
      until = performance.now() + SLICE_MS;
    }
    this.#isLooking = false;
    this.#changed();
  }

  #lookAtPiece(shown: number[]): void {
    const page = this.#pageOf(this.#looked);
    if (page === undefined) return;
    const end = Math.min(page.start + page.ends.length, this.#looked + PIECE);
    const passes = passing(this.#filter);
    for (let line = this.#looked; line < end; line += 1)
      if (passes(page, line - page.start)) shown.push(line);
    this.#looked = end;
  }

  #changed(): void {
    this.version.set(this.version.get() + 1);
  }
}

function withoutBlankLines(text: string): string {
  if (!text.startsWith('\n') && !text.includes('\n\n')) return text;
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => `${line}\n`).join('');
}

function rawLine({ text, ends }: Page, index: number): string {
  return text.slice(index === 0 ? 0 : (ends[index - 1] ?? 0) + 1, ends[index]);
}

function lineOf(page: Page, index: number): LogLine {
  return JSON.parse(rawLine(page, index)) as LogLine;
}

/** Most lines are ruled out by their text as it was sent; only the others are taken apart. */
function passing({ text, level }: LogFilter): (page: Page, index: number) => boolean {
  const wanted = text.toLowerCase();
  const least = AT_LEAST[level];
  // A text that JSON writes in another way is not found in it.
  const isPlain = JSON.stringify(wanted) === `"${wanted}"`;
  return (page, index) => {
    if (isPlain && wanted !== '' && !rawLine(page, index).toLowerCase().includes(wanted))
      return false;
    const line = lineOf(page, index);
    if ((SEVERITY[line.level] ?? 2) < least) return false;
    return wanted === '' || line.line.toLowerCase().includes(wanted);
  };
}

/** The first word of a line. */
export function levelOf(line: string): string {
  const word = /^\s*([A-Z]+)\b/.exec(line)?.[1] ?? '';
  return word in SEVERITY ? word : 'INFO';
}
