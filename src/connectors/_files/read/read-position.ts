/** How far a source of files has come: which files are new since, and in which order they are read. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonValue } from '../../../lib/text/json.ts';
import type { Input } from './input.ts';

export type NewBy = 'mtime' | 'name';

export type Dated = Pick<Input, 'name' | 'key' | 'mtimeMs'>;

/** Of the last file that was read. */
export interface ReadPosition {
  readonly mtimeMs: number;
  readonly key: string;
}

export function bookmarkOf(input: Dated, by: NewBy): JsonValue {
  return by === 'name' ? { name: input.key } : { mtime_ms: mtimeOf(input), path: input.key };
}

export function readBookmark(bookmark: JsonValue, by: NewBy): ReadPosition {
  if (isObject(bookmark)) {
    const { mtime_ms: mtimeMs, path, name } = bookmark;
    if (by === 'name' && typeof name === 'string') return { mtimeMs: 0, key: name };
    if (by === 'mtime' && typeof mtimeMs === 'number' && typeof path === 'string')
      return { mtimeMs, key: path };
  }
  throw new ConnectorError(
    'data',
    `the stored bookmark does not fit \`incremental: {by: ${by}}\``,
    {
      hint: 'delete the state of this row to start over',
    },
  );
}

/** Whether a file is behind the position, in the order in which bookmarks grow. */
export function isAfter(input: Dated, position: ReadPosition, by: NewBy): boolean {
  return by === 'name' ? input.key > position.key : compareTimes(positionOf(input), position) > 0;
}

export function compareInputs(by: NewBy): (a: Dated, b: Dated) => number {
  return by === 'name'
    ? (a, b) => (a.key < b.key ? -1 : 1)
    : (a, b) => compareTimes(positionOf(a), positionOf(b));
}

function positionOf(input: Dated): ReadPosition {
  return { mtimeMs: mtimeOf(input), key: input.key };
}

function mtimeOf({ mtimeMs, name }: Dated): number {
  if (mtimeMs !== undefined) return mtimeMs;
  throw new ConnectorError('data', `${name} does not say when it changed (no Last-Modified)`, {
    hint: 'use `incremental: {by: name}`',
  });
}

function compareTimes(a: ReadPosition, b: ReadPosition): number {
  if (a.mtimeMs !== b.mtimeMs) return a.mtimeMs - b.mtimeMs;
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
