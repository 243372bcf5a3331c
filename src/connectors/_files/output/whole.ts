import { ConnectorError } from '../../../lib/errors.ts';
import { lineNotUtf8 } from '../../../lib/text/utf8-fault.ts';
import { textBlocks } from '../lines/other-formats.ts';

/** Formats that must be read completely into memory are read up to this size. */
export const MAX_WHOLE_BYTES = 512 * 1024 * 1024;

/** All bytes of a stream. */
export async function wholeOf(blocks: AsyncIterable<Uint8Array>, name: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const block of blocks) {
    parts.push(block);
    length += block.length;
    if (length > MAX_WHOLE_BYTES) {
      throw new ConnectorError(
        'data',
        `${name} has more than ${MAX_WHOLE_BYTES} bytes; its format must be read into memory as a whole`,
        {
          hint: 'split it, or use a format that can be read in parts',
        },
      );
    }
  }
  return Buffer.concat(parts, length);
}

/** All text of a stream, without a byte order mark. */
export async function textOf(blocks: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const bytes = await wholeOf(textBlocks(blocks, { name, hasEncodings: false }), name);
  const fault = lineNotUtf8(bytes);
  if (fault !== undefined)
    throw new ConnectorError('data', `line ${fault} of ${name} is not UTF-8 text`, {
      hint: 'convert the file to UTF-8',
    });
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}
