/**
 * Reads the container format of Avro
 * (https://avro.apache.org/docs/1.12.0/specification/#object-container-files): a header, then framed
 * blocks, each with its number of values and bytes and the sync marker of the file at its end. The
 * library's own reader accepts a truncated file as a complete one.
 */
import { ConnectorError } from '../../../lib/errors.ts';

const MAGIC = Buffer.from('Obj\u0001', 'latin1');
const SYNC_BYTES = 16;
/** No writer makes blocks of this size; a count beyond it is damage. */
const MAX_BLOCK_BYTES = 2 ** 31 - 1;

export interface AvroHeader {
  /** The schema as it was written, with its logical types. */
  readonly schema: unknown;
  readonly codec: string;
}

export interface AvroBlock {
  readonly count: number;
  /** Compressed with the codec of the header. */
  readonly data: Buffer;
}

/** Read the header first, then blocks until the file ends. */
export class AvroContainer {
  readonly #name: string;
  readonly #input: AsyncIterator<Uint8Array>;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #sync: Buffer = Buffer.alloc(0);

  constructor(blocks: AsyncIterable<Uint8Array>, name: string) {
    this.#input = blocks[Symbol.asyncIterator]();
    this.#name = name;
  }

  async header(): Promise<AvroHeader> {
    const magic = await this.#take(MAGIC.length, 'header');
    if (!magic.equals(MAGIC)) throw this.#damaged('it does not begin like an Avro file');
    const meta = await this.#metadata();
    this.#sync = Buffer.from(await this.#take(SYNC_BYTES, 'header'));
    const text = meta.get('avro.schema')?.toString('utf8');
    if (text === undefined) throw this.#damaged('its header has no schema');
    return {
      schema: this.#parsed(text),
      codec: meta.get('avro.codec')?.toString('utf8') ?? 'null',
    };
  }

  /** The next block; `undefined` at the end of the file. */
  async next(): Promise<AvroBlock | undefined> {
    if (!(await this.#fill(1))) return undefined;
    const count = await this.#long('block');
    const size = await this.#long('block');
    if (count < 0 || size < 0 || size > MAX_BLOCK_BYTES)
      throw this.#damaged('a block has an impossible size');
    const data = await this.#take(size, 'block');
    const sync = await this.#take(SYNC_BYTES, 'block');
    if (!sync.equals(this.#sync)) throw this.#damaged('a block does not end where it should');
    return { count, data };
  }

  async close(): Promise<void> {
    await this.#input.return?.();
  }

  async #metadata(): Promise<Map<string, Buffer>> {
    const meta = new Map<string, Buffer>();
    for (let count = await this.#long('header'); count !== 0; count = await this.#long('header')) {
      // A negative count is followed by the size of the entries.
      if (count < 0) await this.#long('header');
      for (let left = Math.abs(count); left > 0; left -= 1) {
        const key = await this.#sized();
        meta.set(key.toString('utf8'), Buffer.from(await this.#sized()));
      }
    }
    return meta;
  }

  async #sized(): Promise<Buffer> {
    const length = await this.#long('header');
    if (length < 0 || length > MAX_BLOCK_BYTES) throw this.#damaged('its header is damaged');
    return this.#take(length, 'header');
  }

  /** A zigzag varint. */
  async #long(part: string): Promise<number> {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte = 0] = await this.#take(1, part);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number((value >> 1n) ^ -(value & 1n));
    }
    throw this.#damaged('a number in it has no end');
  }

  async #take(length: number, part: string): Promise<Buffer> {
    if (!(await this.#fill(length))) throw this.#damaged(`it is cut off within its ${part}`);
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  /** Reads until so many bytes are buffered; false when the file ends before. */
  async #fill(length: number): Promise<boolean> {
    let have = this.#bytes.length - this.#at;
    if (have >= length) return true;
    const parts: Uint8Array[] = [this.#bytes.subarray(this.#at)];
    while (have < length) {
      const next = await this.#input.next();
      if (next.done === true) break;
      parts.push(next.value);
      have += next.value.length;
    }
    this.#bytes = Buffer.concat(parts);
    this.#at = 0;
    return have >= length;
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw this.#damaged('the schema in its header is not JSON', error);
    }
  }

  #damaged(why: string, cause?: unknown): ConnectorError {
    return damagedAvro(this.#name, why, cause);
  }
}

export function damagedAvro(name: string, why: string, cause?: unknown): ConnectorError {
  return new ConnectorError('data', `cannot read ${name} as Avro: ${why}`, {
    hint: 'the file is damaged or incomplete; get it again from its origin',
    ...(cause === undefined ? {} : { cause }),
  });
}
