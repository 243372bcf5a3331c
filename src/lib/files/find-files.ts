/**
 * Finds files by a pattern from a document. The cost is limited, whatever the pattern and the
 * folders are.
 */
import { glob, stat } from 'node:fs/promises';
import { RefusedError } from '../errors.ts';

export interface FindFiles {
  readonly signal?: AbortSignal | undefined;
  /** Which matches to return. */
  readonly accepts: (path: string) => boolean;
  readonly maxFiles?: number;
  /** Maximum number of files and folders visited. */
  readonly maxEntries?: number;
}

const MAX_FILES = 10_000;
const MAX_ENTRIES = 50_000;
/** Maximum number of patterns that braces expand to: `{a,b}{c,d}` expands to four. */
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

/** The target of a link may not exist. */
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

/** The number of patterns that the braces expand to, or an upper bound of it. */
export function countAlternatives(pattern: string): number {
  // For each open brace: the product of the numbers before it, the sum of the alternatives so far,
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
