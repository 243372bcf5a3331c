import { MAX_ISSUES } from '../../kit/schema.ts';
import type { Issue } from '../../lib/errors.ts';
import { stepsOf } from '../parse/steps.ts';

/** 1-based place in a text. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
  /** The file, when the document has one. */
  readonly file?: string;
}

export type Locate = (path: string) => TextPosition | undefined;

/** Locations of the nodes of a text: offset of the key (or list item), and the nodes below. */
export interface PlaceNode {
  readonly offset: number;
  readonly below: Map<string | number, PlaceNode>;
}

/**
 * Finds paths in a text; a missing path gets the location of the closest node above it. The index
 * is built on first use.
 */
export function locatorOf(text: string, index: () => PlaceNode | undefined): Locate {
  let root: PlaceNode | undefined;
  let lines: readonly number[] | undefined;
  return (path) => {
    root ??= index();
    lines ??= lineStarts(text);
    if (root === undefined) return undefined;
    let at = root;
    for (const step of stepsOf(path)) {
      const next = at.below.get(step);
      if (next === undefined) break;
      at = next;
    }
    return positionIn(lines, at.offset);
  };
}

export function positionAt(text: string, offset: number): TextPosition {
  return positionIn(lineStarts(text), offset);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let newline = text.indexOf('\n'); newline !== -1; newline = text.indexOf('\n', newline + 1))
    starts.push(newline + 1);
  return starts;
}

function positionIn(lines: readonly number[], offset: number): TextPosition {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lines[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (lines[low] ?? 0) + 1 };
}

const MORE_ISSUES: Issue = {
  code: 'more_issues',
  path: '',
  message: `there are more than ${MAX_ISSUES} issues; only the first are reported`,
};

/** Whether more issues were found than are reported: the search can end. */
export function isFull(issues: readonly Issue[]): boolean {
  return issues.length > MAX_ISSUES;
}

/**
 * The issues with their places filled in, file by file in the order of the text; a document with
 * very many tells the first ones.
 */
export function withPlaces(issues: readonly Issue[], locate: Locate): Issue[] {
  const placed = issues.slice(0, MAX_ISSUES).map((issue) => {
    if (issue.line !== undefined) return issue;
    const position = locate(issue.path);
    return position === undefined ? issue : { ...issue, ...position };
  });
  const files = [...new Set(placed.map((issue) => issue.file))];
  const rank = new Map(files.map((file, index) => [file, index]));
  const rankOf = ({ file }: Issue): number => rank.get(file) ?? 0;
  placed.sort(
    (a, b) =>
      rankOf(a) - rankOf(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
  return isFull(issues) ? [...placed, MORE_ISSUES] : placed;
}
