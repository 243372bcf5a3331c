/** Files that are no UTF-8 text, recognised by their first bytes: as text they would be garbage. */
import { ConnectorError } from '../../../lib/errors.ts';

interface OtherFormat {
  readonly is: string;
  readonly starts: (bytes: Uint8Array) => boolean;
  readonly hint: string;
}

const startsWith =
  (...magic: readonly number[]) =>
  (bytes: Uint8Array): boolean =>
    magic.every((byte, index) => bytes[index] === byte);

/** ASCII in two bytes a letter; `offset` is the place of its empty byte. */
const hasEmptyBytes =
  (offset: 0 | 1) =>
  (bytes: Uint8Array): boolean =>
    bytes.length >= 4 &&
    bytes[offset] === 0 &&
    bytes[offset + 2] === 0 &&
    bytes[1 - offset] !== 0 &&
    bytes[3 - offset] !== 0;

const utf16 = (encoding: string): string => `set \`encoding: ${encoding}\``;

const OTHER_FORMATS: readonly OtherFormat[] = [
  { is: 'compressed with gzip', starts: startsWith(0x1f, 0x8b), hint: 'set `compression: gzip`' },
  {
    is: 'compressed with zstd',
    starts: startsWith(0x28, 0xb5, 0x2f, 0xfd),
    hint: 'set `compression: zstd`',
  },
  {
    is: 'a ZIP archive, and no text',
    starts: startsWith(0x50, 0x4b, 0x03, 0x04),
    hint: 'read a workbook with the source `excel`; unpack other archives',
  },
  { is: 'UTF-16 text', starts: startsWith(0xff, 0xfe), hint: utf16('utf-16le') },
  { is: 'UTF-16 text', starts: startsWith(0xfe, 0xff), hint: utf16('utf-16be') },
  { is: 'UTF-16 text', starts: hasEmptyBytes(1), hint: utf16('utf-16le') },
  { is: 'UTF-16 text', starts: hasEmptyBytes(0), hint: utf16('utf-16be') },
];

/** The blocks of a file of UTF-8 text; one that is something else is refused. */
export async function* textBlocks(
  blocks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const block of blocks) {
    if (isFirst) refuseOtherFormats(block, name);
    isFirst = false;
    yield block;
  }
}

function refuseOtherFormats(bytes: Uint8Array, name: string): void {
  const found = OTHER_FORMATS.find(({ starts }) => starts(bytes));
  if (found === undefined) return;
  throw new ConnectorError('data', `${name} is ${found.is}`, { hint: found.hint });
}
