/** Files that are no UTF-8 text, recognised by their first bytes: as text they would be garbage. */
import { ConnectorError } from '../../../lib/errors.ts';

interface OtherFormat {
  readonly is: string;
  readonly starts: (bytes: Uint8Array) => boolean;
  readonly hint: string;
  /** For sources that read UTF-8 only. */
  readonly utf8Hint?: string;
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

const utf16 = (encoding: string) => ({
  is: 'UTF-16 text',
  hint: `set \`encoding: ${encoding}\``,
  utf8Hint: 'convert the file to UTF-8',
});

const UTF_32 = { is: 'UTF-32 text', hint: 'convert the file to UTF-8' };

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
  { ...UTF_32, starts: startsWith(0xff, 0xfe, 0, 0) },
  { ...UTF_32, starts: startsWith(0, 0, 0xfe, 0xff) },
  { ...utf16('utf-16le'), starts: startsWith(0xff, 0xfe) },
  { ...utf16('utf-16be'), starts: startsWith(0xfe, 0xff) },
  { ...utf16('utf-16le'), starts: hasEmptyBytes(1) },
  { ...utf16('utf-16be'), starts: hasEmptyBytes(0) },
];

interface TextFile {
  /** What messages call the file. */
  readonly name: string;
  /** Whether the source reads texts in other encodings when it is told to. */
  readonly hasEncodings: boolean;
}

/** The blocks of a file of UTF-8 text; one that is something else is refused. */
export async function* textBlocks(
  blocks: AsyncIterable<Uint8Array>,
  file: TextFile,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const block of blocks) {
    if (isFirst) refuseOtherFormats(block, file);
    isFirst = false;
    yield block;
  }
}

function refuseOtherFormats(bytes: Uint8Array, { name, hasEncodings }: TextFile): void {
  const found = OTHER_FORMATS.find(({ starts }) => starts(bytes));
  if (found === undefined) return;
  const hint = hasEncodings ? found.hint : (found.utf8Hint ?? found.hint);
  throw new ConnectorError('data', `${name} is ${found.is}`, { hint });
}
