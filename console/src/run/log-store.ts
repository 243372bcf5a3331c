/**
 * The log of a run, which may have millions of lines. Filters look through it piece by piece, so
 * that the page stays usable meanwhile.
 */
import { createStore, type Store } from '../lib/store.ts';

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
const [PIECE, SLICE_MS] = [2000, 8];

export class LogStore {
  readonly lines: LogLine[] = [];
  /** Indexes of the lines that pass the filter; undefined: all do. */
  shown: number[] | undefined;
  /** Changes with every change that can be seen. */
  readonly version: Store<number> = createStore(0);
  #filter: LogFilter = { text: '', level: 'all' };
  #looked = 0;
  #isLooking = false;

  add(lines: readonly LogLine[]): void {
    if (lines.length === 0) return;
    for (const line of lines) this.lines.push(line);
    this.#changed();
    void this.#look();
  }

  get count(): number {
    return this.shown?.length ?? this.lines.length;
  }

  at(index: number): LogLine | undefined {
    return this.lines[this.shown === undefined ? index : (this.shown[index] ?? -1)];
  }

  get last(): number | undefined {
    return this.lines.at(-1)?.seq;
  }

  filter(filter: LogFilter): void {
    this.#filter = filter;
    this.#looked = 0;
    this.shown = filter.text === '' && filter.level === 'all' ? undefined : [];
    this.#changed();
    void this.#look();
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let until = performance.now() + SLICE_MS;
    while (this.shown !== undefined && this.#looked < this.lines.length) {
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
    const { text, level } = this.#filter;
    const wanted = text.toLowerCase();
    const least = AT_LEAST[level];
    const end = Math.min(this.lines.length, this.#looked + PIECE);
    for (let index = this.#looked; index < end; index += 1) {
      const line = this.lines[index];
      if (line === undefined || (SEVERITY[line.level] ?? 2) < least) continue;
      if (wanted === '' || line.line.toLowerCase().includes(wanted)) shown.push(index);
    }
    this.#looked = end;
  }

  #changed(): void {
    this.version.set(this.version.get() + 1);
  }
}

/** The first word of a line. */
export function levelOf(line: string): string {
  const word = /^\s*([A-Z]+)\b/.exec(line)?.[1] ?? '';
  return word in SEVERITY ? word : 'INFO';
}
