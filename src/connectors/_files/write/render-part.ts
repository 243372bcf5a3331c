import { encrypt } from '../../../lib/crypto/encryption.ts';
import { Compressor, type Codec } from '../compression/compression.ts';
import { temporaryPath } from '../output/temporary-path.ts';
import { wholeOf } from '../output/whole.ts';
import { render } from './render.ts';
import type { PartRecords } from './part-records.ts';
import type { Spool } from './spool.ts';
import { encryptsLines } from './writing-blocks.ts';

/** The bytes of a new file: rendered, compressed and encrypted. */
export async function* renderPart(
  spool: Spool,
  rendering: ReturnType<PartRecords['rendering']>,
): AsyncGenerator<Uint8Array> {
  const { writing } = rendering;
  const bytes = render(spool, {
    ...rendering,
    continued: false,
    temporary: temporaryPath(spool.path),
  });
  const packed = compressed(bytes, writing.codec);
  // Encryption as a whole comes last, because encrypted bytes cannot be compressed.
  if (writing.encryption === undefined || encryptsLines(writing)) yield* packed;
  else yield encrypt(writing.encryption.key, await wholeOf(packed, spool.path));
}

async function* compressed(
  blocks: AsyncIterable<Uint8Array>,
  codec: Codec,
): AsyncGenerator<Uint8Array> {
  if (codec === 'none') {
    yield* blocks;
    return;
  }
  const compressor = new Compressor(codec);
  // An empty file is compressed too; without a single byte it would read as damaged.
  yield* await compressor.write(Buffer.alloc(0));
  for await (const block of blocks) yield* await compressor.write(block);
  yield* await compressor.finish();
}
