/**
 * Finds files by a pattern that somebody else wrote: what it costs is bounded, whatever the pattern
 * and the folders are like.
 */
import { glob, stat } from 'node:fs/promises';
import { RefusedError } from '../errors.ts';

export interface FindFiles {
  readonly signal?: AbortSignal | undefined;
  /** Which of the matches are meant. */
  readonly accepts: (path: string) => boolean;
  readonly maxFiles?: number;
  /** Files and folders that are looked at on the way. */
  readonly maxEntries?: number;
}

const MAX_FILES = 10_000;
const MAX_ENTRIES = 50_000;
/** Patterns that the braces of one pattern stand for: `{a,b}{c,d}` stands for four. */
const MAX_ALTERNATIVES = 64;

/** Regular files, sorted, also behind links. Throws `RefusedError` where a bound is exceeded. */
export async function findFiles(
  pattern: string,
  { signal, accepts, maxFiles = MAX_FILES, maxEntries = MAX_ENTRIES }: FindFiles,
): Promise<string[]> {
  if (countAlternatives(pattern) > MAX_ALTERNATIVES)
    throw tooMuch(`its braces stand for more than ${MAX_ALTERNATIVES} patterns`);
  const files: string[] = [];
  let entries = 0;
  const exclude = (): boolean => {
    signal?.throwIfAborted();
    entries += 1;
    if (entries > maxEntries)
      throw tooMuch(`it leads to more than ${maxEntries} files and folders`);
    return false;
  };
  for await (const path of glob(pattern, { exclude })) {
    signal?.throwIfAborted();
    if (!accepts(path) || !(await isFile(path))) continue;
    files.push(path);
    if (files.length > maxFiles) throw tooMuch(`more than ${maxFiles} files match it`);
  }
  return files.sort();
}

/** A link may lead nowhere. */
async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function tooMuch(why: string): RefusedError {
  return new RefusedError('bad_config', `the pattern is too wide: ${why}`, {
    hint: 'name the files more closely',
  });
}

/** How many patterns without braces a pattern stands for; never less. */
export function countAlternatives(pattern: string): number {
  // For each open brace: the product of what stands before it, the sum of the alternatives so far,
  // and the product of the current one.
  const open: { readonly before: number; sum: number }[] = [];
  let product = 1;
  for (const [token] of pattern.matchAll(/\\.|\{[^{},]*\.\.[^{},]*\}|[{},]/gs)) {
    const innermost = open.at(-1);
    if (token.includes('..')) product *= lengthOfRange(token);
    else if (token === '{') {
      open.push({ before: product, sum: 0 });
      product = 1;
    } else if (innermost !== undefined && token === ',') {
      innermost.sum += product;
      product = 1;
    } else if (innermost !== undefined && token === '}') {
      open.pop();
      product = innermost.before * (innermost.sum + product);
    }
  }
  return open.reduceRight((inner, { before, sum }) => before * (sum + inner), product);
}

/** `{1..5}` stands for five; letters for at most as many as there are characters. */
function lengthOfRange(range: string): number {
  const [first = '', last = ''] = range.slice(1, -1).split('..');
  const numbers = [Number(first), Number(last)] as const;
  if (!numbers.every(Number.isFinite)) return 0x10000;
  return Math.abs(numbers[1] - numbers[0]) + 1;
}
