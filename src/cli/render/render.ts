/** Everything the command line prints: data to stdout, everything for people to stderr. */
import { styleText } from 'node:util';
import type { JsonValue } from '../../lib/text/json.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { LogLine } from '../../lib/log.ts';
import type { Redactor } from '../../lib/redact.ts';
import type { Output } from '../framework/world.ts';

export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan';

const LEVEL_STYLES: Readonly<Record<string, Style>> = {
  ERROR: 'red',
  WARN: 'yellow',
  INFO: 'green',
  DEBUG: 'cyan',
  TRACE: 'dim',
};
const CLEAR_LINE = '\r\u001B[2K';
const PLAIN_WIDTH = 80;

export interface TerminalOptions {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
}

export class Terminal {
  readonly #stdout: Output;
  readonly #stderr: Output;
  readonly #redactor: Redactor;
  readonly #plain: boolean;
  #progressShown = false;
  #hasPrinted = false;

  constructor({ stdout, stderr, variables, redactor }: TerminalOptions) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#redactor = redactor;
    this.#plain = (variables['NO_COLOR'] ?? '') !== '' || variables['TERM'] === 'dumb';
  }

  /** Whether somebody watches: progress and source excerpts are for people only. */
  get watched(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** Whether anything was written to stdout. */
  get hasPrinted(): boolean {
    return this.#hasPrinted;
  }

  /** Data, as it is: records are not redacted. */
  data(text: string): void {
    this.#hasPrinted = true;
    this.#stdout.write(text);
  }

  /**
   * Text a person asked for (`list`, `explain`, help): it is the product of the command, so it goes
   * to stdout.
   */
  print(text: string): void {
    this.#hasPrinted = true;
    this.#stdout.write(`${this.#redactor.text(text)}\n`);
  }

  json(value: unknown): void {
    this.print(stringifyJson(this.#redactor.json(value as JsonValue), 2));
  }

  jsonLine(value: unknown): void {
    this.print(stringifyJson(this.#redactor.json(value as JsonValue)));
  }

  /** A line for the person at the terminal. */
  note(text: string): void {
    this.clearProgress();
    this.#stderr.write(`${this.#redactor.text(text)}\n`);
  }

  warn(text: string): void {
    this.note(`${this.paint('yellow', 'warning:')} ${text}`);
  }

  log({ ts, level, line }: LogLine): void {
    const rest = line.startsWith(`${level} `) ? line.slice(level.length) : line;
    this.note(`${this.paint('dim', ts)} ${this.paint(LEVEL_STYLES[level] ?? 'dim', level)}${rest}`);
  }

  /** Replaces the progress line. A pipe never gets one. */
  progress(text: string): void {
    if (!this.watched) return;
    this.#stderr.write(
      CLEAR_LINE + this.#redactor.text(text).slice(0, (this.#stderr.columns ?? PLAIN_WIDTH) - 1),
    );
    this.#progressShown = true;
  }

  clearProgress(): void {
    if (!this.#progressShown) return;
    this.#stderr.write(CLEAR_LINE);
    this.#progressShown = false;
  }

  /** Colours for stderr. */
  paint(style: Style, text: string): string {
    return this.#styled(style, text, this.#stderr);
  }

  /** Colours for stdout. */
  ink(style: Style, text: string): string {
    return this.#styled(style, text, this.#stdout);
  }

  #styled(style: Style, text: string, on: Output): string {
    return on.isTTY === true && !this.#plain && text !== ''
      ? styleText(style, text, { validateStream: false })
      : text;
  }
}

/**
 * Columns two spaces apart; columns named in `right` hold numbers. The last column is not padded.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string[] {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) =>
        right.includes(column)
          ? cell.padStart(widths[column] ?? 0)
          : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** Two columns as help prints them: names, and descriptions wrapped beside them. */
export function definitionList(
  entries: readonly (readonly [string, string])[],
  width = 100,
): string[] {
  const left = Math.min(34, Math.max(0, ...entries.map(([name]) => name.length)) + 4);
  return entries.flatMap(([name, text]) => {
    const lines = wrap(text, Math.max(24, width - left));
    const head = `  ${name}`;
    const beside =
      head.length + 2 > left
        ? [head, ...indent(lines, left)]
        : [head.padEnd(left) + (lines[0] ?? ''), ...indent(lines.slice(1), left)];
    return beside.map((line) => line.trimEnd());
  });
}

export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return line === '' ? lines : [...lines, line];
}

function indent(lines: readonly string[], by: number): string[] {
  return lines.map((line) => ' '.repeat(by) + line);
}

export function byteSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return power === 0
    ? `${Math.round(bytes)} B`
    : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
