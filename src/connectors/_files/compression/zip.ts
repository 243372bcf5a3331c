import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';
import { MAX_WHOLE_BYTES } from '../output/whole.ts';

const fflate = lazyLibrary<typeof import('fflate')>('fflate');

/** The files of a ZIP archive whose names `wanted` accepts. Errors show `name`. */
export function unzipFiles(
  bytes: Uint8Array,
  name: string,
  wanted: (file: string) => boolean,
): Map<string, Uint8Array> {
  let total = 0;
  try {
    const files = fflate().unzipSync(bytes, {
      filter(file) {
        if (file.name.endsWith('/') || !wanted(file.name)) return false;
        total += file.originalSize;
        if (total > MAX_WHOLE_BYTES) throw tooLarge(name);
        return true;
      },
    });
    return new Map(Object.entries(files));
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('data', `${name} is not a valid ZIP archive: ${messageOf(error)}`, {
      cause: error,
      hint: 'the file is damaged or of another kind; get it again from its origin, or name its `format`',
    });
  }
}

/** The first file, or the first whose name matches the pattern (`*` and `?`). */
export function unzipMember(
  bytes: Uint8Array,
  name: string,
  pattern: string | undefined,
): Uint8Array {
  const names: string[] = [];
  const fits = pattern === undefined ? () => true : globTest(pattern);
  let chosen: string | undefined;
  const files = unzipFiles(bytes, name, (file) => {
    names.push(file);
    if (chosen !== undefined || !fits(file)) return false;
    chosen = file;
    return true;
  });
  const found = chosen === undefined ? undefined : files.get(chosen);
  if (found !== undefined) return found;
  const hint = names.length === 0 ? 'it is empty' : `it contains: ${names.slice(0, 10).join(', ')}`;
  throw new ConnectorError(
    'missing',
    `${name} holds no file ${pattern === undefined ? '' : `called \`${pattern}\``}`.trimEnd(),
    { hint },
  );
}

/** A pattern without a slash is compared with the last part of the name only. */
function globTest(pattern: string): (file: string) => boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const expression = new RegExp(`^${source}$`, 's');
  return (file) => expression.test(pattern.includes('/') ? file : (file.split('/').at(-1) ?? file));
}

function tooLarge(name: string): ConnectorError {
  return new ConnectorError(
    'data',
    `${name} is larger than ${MAX_WHOLE_BYTES / (1024 * 1024)} MiB when it is decompressed`,
  );
}
