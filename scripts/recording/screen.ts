/** What a terminal shows of a text: lines of coloured pieces, wrapped at the last column. */

export interface Piece {
  readonly text: string;
  /** Names of colours and weights, as CSS classes. */
  readonly style: string;
}
export type Line = readonly Piece[];

const STYLES: Readonly<Record<string, string>> = {
  1: 'bold',
  2: 'dim',
  31: 'red',
  32: 'green',
  33: 'yellow',
  34: 'blue',
  35: 'magenta',
  36: 'cyan',
};
/** Which codes end which styles. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  0: Object.values(STYLES),
  22: ['bold', 'dim'],
  39: ['red', 'green', 'yellow', 'blue', 'magenta', 'cyan'],
};

export function screenLines(output: string, columns: number): Line[] {
  const on = new Set<string>();
  return lastStates(output).flatMap((text) => wrap(pieces(text, on), columns));
}

export function plainText(line: Line): string {
  return line.map(({ text }) => text).join('');
}

/** Lines that a program writes again and again, such as progress, as they are in the end. */
function lastStates(output: string): string[] {
  const lines = output.replaceAll('\r\n', '\n').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.slice(line.lastIndexOf('\u001B[2K') + 1).replace(/^\[2K/, ''));
}

function pieces(text: string, on: Set<string>): Piece[] {
  const found: Piece[] = [];
  // eslint-disable-next-line no-control-regex
  for (const part of text.split(/(\u001B\[\d+m)/)) {
    // eslint-disable-next-line no-control-regex
    const code = /^\u001B\[(\d+)m$/.exec(part)?.[1];
    if (code === undefined) {
      const clean = part.replaceAll('\r', '');
      if (clean !== '') found.push({ text: clean, style: [...on].join(' ') });
      continue;
    }
    for (const ended of ENDS[code] ?? []) on.delete(ended);
    const style = STYLES[code];
    if (style !== undefined) on.add(style);
  }
  return found;
}

function wrap(line: Line, columns: number): Line[] {
  const lines: Piece[][] = [[]];
  let left = columns;
  for (const { text, style } of line) {
    let rest = text;
    while (rest !== '') {
      if (left === 0) {
        lines.push([]);
        left = columns;
      }
      lines.at(-1)?.push({ text: rest.slice(0, left), style });
      const taken = Math.min(left, rest.length);
      rest = rest.slice(taken);
      left -= taken;
    }
  }
  return lines;
}
