import type { Issue } from '../lib/errors.ts';
import { stepsOf } from './steps.ts';

/** 1-based place in a text. */
export interface Position {
  readonly line: number;
  readonly column: number;
  /** The file, when the document has one. */
  readonly file?: string;
}

export type Locate = (path: string) => Position | undefined;

/** Where the nodes of a text stand: offset of the key (or list item), and the nodes below. */
export interface PlaceNode {
  readonly offset: number;
  readonly below: Map<string | number, PlaceNode>;
}

/** Finds paths in a text; a path that is not there is told at the closest node above it. The index is built on first use. */
export function locatorOf(text: string, index: () => PlaceNode | undefined): Locate {
  let root: PlaceNode | undefined;
  return (path) => {
    root ??= index();
    if (root === undefined) return undefined;
    let at = root;
    for (const step of stepsOf(path)) {
      const next = at.below.get(step);
      if (next === undefined) break;
      at = next;
    }
    return positionAt(text, at.offset);
  };
}

export function positionAt(text: string, offset: number): Position {
  let line = 1;
  let start = 0;
  for (let newline = text.indexOf('\n'); newline !== -1 && newline < offset; newline = text.indexOf('\n', start)) {
    line += 1;
    start = newline + 1;
  }
  return { line, column: offset - start + 1 };
}

/** The issues with their places filled in. */
export function withPlaces(issues: readonly Issue[], locate: Locate): Issue[] {
  return issues.map((issue) => {
    if (issue.line !== undefined) return issue;
    const position = locate(issue.path);
    return position === undefined ? issue : { ...issue, ...position };
  });
}
