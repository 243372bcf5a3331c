/**
 * Where the table lies in delimited text: lines above it, what stands between its cells, and whether
 * its first row names the columns. Every finding comes with what says so.
 */
import { count } from '../../lib/text/count.ts';
import { isCalendarDate } from '../../lib/time/rfc3339.ts';

export interface FoundTable {
  readonly delimiter: string;
  /** Lines above the first row. */
  readonly skipped: number;
  readonly hasHeader: boolean;
  /** As the header has them; empty without one. */
  readonly names: readonly string[];
  /** Lines above the first row behind the header. */
  readonly skippedWithHeader: number;
  readonly width: number;
  /** Cells of the records of the sample. */
  readonly rows: readonly (readonly string[])[];
  /** Records whose number of cells is another one. */
  readonly ragged: readonly RaggedRow[];
  readonly because: {
    readonly delimiter: string;
    readonly skipped?: string;
    readonly header: string;
  };
}

export interface RaggedRow {
  readonly line: number;
  readonly cells: number;
}

const CANDIDATES = [',', ';', '\t', '|'] as const;
const NAMES: Readonly<Record<string, string>> = {
  ',': 'comma',
  ';': 'semicolon',
  '\t': 'tab',
  '|': 'bar',
};
/** Lines of a title that are looked through. */
const MOST_SKIPPED = 50;
const LINES_LOOKED_AT = 500;
const MOST_ROWS = 10_000;

/** `undefined` for a text without a row. `isWhole`: the text does not end inside a row. */
export function findTable(text: string, isWhole: boolean): FoundTable | undefined {
  const lines = text.split(/\r\n|\n|\r/, LINES_LOOKED_AT);
  const layouts = CANDIDATES.map((delimiter) => layoutOf(lines, delimiter));
  const best = layouts.toSorted((one, two) => two.score - one.score)[0];
  if (best === undefined || best.rows === 0) return undefined;
  const { delimiter, width } = best;
  const skipped = skippedLines(lines, best);
  const from = offsetOfLine(text, skipped);
  const parsed = parseRows(text.slice(from), { delimiter, line: skipped + 1, isWhole });
  const [first, ...rest] = parsed;
  if (first === undefined) return undefined;
  const header = judgeHeader(
    first.cells,
    rest.map(({ cells }) => cells),
  );
  const records = header.isHeader ? rest : parsed;
  return {
    delimiter,
    skipped,
    hasHeader: header.isHeader,
    names: header.isHeader ? first.cells.map((cell) => cell.trim()) : [],
    skippedWithHeader: header.isHeader ? first.nextLine - 1 : skipped,
    width,
    rows: records.filter(({ cells }) => cells.length === width).map(({ cells }) => cells),
    ragged: records
      .filter(({ cells }) => cells.length !== width)
      .map(({ line, cells }) => ({ line, cells: cells.length })),
    because: {
      delimiter:
        width === 1
          ? 'no comma, semicolon, tab or bar divides the lines'
          : `${count(best.fitting, 'line')} of ${best.rows} have ${count(width, 'cell')} with a ${NAMES[delimiter]}`,
      ...(skipped === 0 ? {} : { skipped: aboveText(lines.slice(0, skipped)) }),
      header: header.because,
    },
  };
}

interface Layout {
  readonly delimiter: string;
  /** The number of cells that most lines have. */
  readonly width: number;
  readonly fitting: number;
  /** Lines that are not empty. */
  readonly rows: number;
  readonly score: number;
}

function layoutOf(lines: readonly string[], delimiter: string): Layout {
  const filled = lines.filter((line) => line.trim() !== '');
  const widths = new Map<number, number>();
  for (const line of filled) {
    const width = cellsIn(line, delimiter);
    widths.set(width, (widths.get(width) ?? 0) + 1);
  }
  const divided = [...widths].filter(([width]) => width > 1);
  const [width, fitting] = divided.toSorted(
    (one, two) => two[1] - one[1] || two[0] - one[0],
  )[0] ?? [1, filled.length];
  const share = filled.length === 0 ? 0 : fitting / filled.length;
  // One line that happens to have a comma divides nothing.
  const isDivided = width > 1 && (fitting > 1 || filled.length === 1) && share > 0.3;
  return {
    delimiter,
    width: isDivided ? width : 1,
    fitting: isDivided ? fitting : filled.length,
    rows: filled.length,
    score: isDivided ? share * 10 + Math.min(width, 50) / 10 : 0,
  };
}

function cellsIn(line: string, delimiter: string): number {
  let cells = 1;
  let isQuoted = false;
  for (const letter of line) {
    if (letter === '"') isQuoted = !isQuoted;
    else if (letter === delimiter && !isQuoted) cells += 1;
  }
  return cells;
}

/**
 * The lines before the first one that is as wide as most. A title may by chance be as wide: when
 * there are others above it, and an empty line behind, the table begins behind that.
 */
function skippedLines(lines: readonly string[], { delimiter, width }: Layout): number {
  if (width === 1) return 0;
  const titled = linesOfTitle(lines, { delimiter, width });
  if (titled > 0) return titled;
  const isRow = (line: string | undefined): boolean =>
    line !== undefined && !isBlank(line, delimiter) && cellsIn(line, delimiter) === width;
  const first = lines.findIndex(isRow);
  if (first <= 0 || first > MOST_SKIPPED) return 0;
  const gap = lines.findIndex((line, index) => index > first && isBlank(line, delimiter));
  const behind = lines.findIndex((line, index) => index > gap && isRow(line));
  const isTitle = gap !== -1 && gap <= first + 3 && lines.slice(behind).filter(isRow).length > 3;
  return isTitle ? behind : first;
}

/**
 * A spreadsheet fills up its titles with empty cells, so that they are as wide as the table. They are
 * told by what follows: the first row whose cells are all filled, when it is a header, and when no row
 * above it has more than half of its cells filled.
 */
function linesOfTitle(
  lines: readonly string[],
  { delimiter, width }: Pick<Layout, 'delimiter' | 'width'>,
): number {
  const rows = parseRows(lines.join('\n'), { delimiter, line: 1, isWhole: true });
  const header = rows.findIndex(
    ({ cells }) => filledCells(cells) === width && cells.length === width,
  );
  const [above, first] = [rows.slice(0, header), rows[header]];
  if (header <= 0 || first === undefined || first.line > MOST_SKIPPED) return 0;
  const isTitle = above.every(
    ({ cells }) => cells.length === width && filledCells(cells) <= width / 2,
  );
  const records = rows.slice(header + 1).map(({ cells }) => cells);
  return isTitle && records.length > 0 && judgeHeader(first.cells, records).isHeader
    ? first.line - 1
    : 0;
}

function filledCells(cells: readonly string[]): number {
  return cells.filter((cell) => cell.trim() !== '').length;
}

/** Lines of a spreadsheet that have nothing but delimiters. */
function isBlank(line: string, delimiter: string): boolean {
  return line.replaceAll(delimiter, '').trim() === '';
}

function aboveText(lines: readonly string[]): string {
  const first = lines.find((line) => line.trim() !== '')?.trim() ?? '';
  const shown = first.length > 50 ? `${first.slice(0, 49)}…` : first;
  return `${count(lines.length, 'line')} above the table${shown === '' ? '' : `, such as ${JSON.stringify(shown)}`}`;
}

function offsetOfLine(text: string, lines: number): number {
  let at = 0;
  for (let left = lines; left > 0; left -= 1) {
    const end = /\r\n|\n|\r/g;
    end.lastIndex = at;
    const found = end.exec(text);
    if (found === null) return text.length;
    at = found.index + found[0].length;
  }
  return at;
}

interface ParsedRow {
  readonly cells: readonly string[];
  readonly line: number;
  /** The line on which the next row begins. */
  readonly nextLine: number;
}

interface Parsing {
  readonly delimiter: string;
  readonly line: number;
  readonly isWhole: boolean;
}

/** By the rules of `kit/csv-dialect.ts`. */
function parseRows(text: string, { delimiter, line: firstLine, isWhole }: Parsing): ParsedRow[] {
  const rows: ParsedRow[] = [];
  let [at, line] = [0, firstLine];
  while (at < text.length && rows.length < MOST_ROWS) {
    const begin = line;
    const cells: string[] = [];
    let ends = false;
    while (!ends) {
      const { cell, next } = readCell(text, at, delimiter);
      cells.push(cell.text);
      line += cell.lines;
      at = next;
      if (text[at] === delimiter) at += 1;
      else ends = true;
    }
    if (at >= text.length && !isWhole) break;
    at += text.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
    if (cells.length > 1 || cells[0] !== '') rows.push({ cells, line: begin, nextLine: line });
  }
  return rows;
}

interface ReadCell {
  readonly cell: { readonly text: string; readonly lines: number };
  readonly next: number;
}

function readCell(text: string, from: number, delimiter: string): ReadCell {
  let quoted = '';
  let at = from;
  if (text[at] === '"') {
    at = closingQuote(text, at + 1);
    quoted = text.slice(from + 1, at).replaceAll('""', '"');
    at = Math.min(at + 1, text.length);
  }
  let end = at;
  while (end < text.length && !'\r\n'.includes(text[end] ?? '') && text[end] !== delimiter)
    end += 1;
  const lines = quoted.split(/\r\n|\n|\r/).length - 1;
  return { cell: { text: quoted + text.slice(at, end), lines }, next: end };
}

/** Where the quote stands that ends a cell; the end of the text where none does. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return text.length;
}

const NAME = /^[\p{L}_][\p{L}\p{N}_ .,:;\-/()#%\u20ac$&+*']{0,63}$/u;

/** Columns may be called by years. */
const YEAR = /^(?:19|20)\d\d$/;

/** Whether the first row names the columns. */
function judgeHeader(
  first: readonly string[],
  rest: readonly (readonly string[])[],
): { readonly isHeader: boolean; readonly because: string } {
  const named = first.map((cell) => cell.trim());
  const value = named.find((cell) => isValue(cell) && !YEAR.test(cell));
  if (value !== undefined)
    return { isHeader: false, because: `the first row has the value ${JSON.stringify(value)}` };
  const filled = filledCells(named);
  if (filled <= named.length / 2)
    return {
      isHeader: false,
      because: `only ${filled} of the ${named.length} cells of the first row are filled`,
    };
  const typed = named.findIndex((_, column) =>
    rest.some((cells) => cells[column] !== undefined && isValue(cells[column].trim())),
  );
  const repeated = named.findIndex(
    (cell, column) => cell !== '' && rest.some((cells) => cells[column]?.trim() === cell),
  );
  if (typed !== -1 && repeated !== typed)
    return {
      isHeader: true,
      because: `${JSON.stringify(named[typed])} is a text above values that are none`,
    };
  if (repeated !== -1)
    return {
      isHeader: false,
      because: `${JSON.stringify(named[repeated])} of the first row is found again below`,
    };
  const odd = named.find((cell) => cell !== '' && !NAME.test(cell));
  return odd === undefined
    ? { isHeader: true, because: 'the first row has names only, none of which is found below' }
    : {
        isHeader: false,
        because: `${JSON.stringify(odd.slice(0, 30))} of the first row is no name`,
      };
}

/** A number in any usual spelling, a date, or a truth value. */
function isValue(cell: string): boolean {
  if (/^[+-]?[\d., \u00a0\u202f]*\d[%\u20ac$]?$/.test(cell)) return true;
  if (/^(true|false)$/i.test(cell)) return true;
  const day = cell.slice(0, 10);
  return /^\d{4}-\d{2}-\d{2}/.test(cell)
    ? isCalendarDate(day)
    : /^\d{1,2}[./]\d{1,2}[./]\d{2,4}/.test(cell);
}
