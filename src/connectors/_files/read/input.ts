import type { JsonObject } from '../../../lib/text/json.ts';
import type { Format } from '../formats.ts';
import type { ByteRanges } from '../parquet/parquet-reader.ts';

/** One thing to read. */
export interface Input {
  /** What errors and logs call it. */
  readonly name: string;
  /** What the bookmark of `by: name` compares. */
  readonly key: string;
  /** When it changed; absent for an address whose response does not say so. */
  readonly mtimeMs: number | undefined;
  readonly format: Format;
  /** What a record of `raw_text` has besides the content. */
  readonly origin: JsonObject;
  /** The path, when the file can be read in place: local, neither compressed nor encrypted. */
  readonly plainPath?: string | undefined;
  /** Reads parts of it from elsewhere, where it is neither compressed nor encrypted. */
  readonly ranges?: (() => ByteRanges) | undefined;
  /** The content, decrypted and decompressed. */
  blocks(): AsyncIterable<Uint8Array>;
}
