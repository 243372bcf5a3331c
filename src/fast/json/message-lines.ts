/**
 * Messages as JSON Lines without reading their values: what is plain JSON stands in the line as it
 * came. The lines are those of the same messages as records.
 */
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { PlainJson } from './plain-json.ts';

export interface Message {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly unknown[];
}

/** `text`: a JSON text of it; `json`: as it is. */
export type KeyForm = 'text' | 'json';

const FIRST_BYTES = 256 * 1024;
const [LEAD, VALUE, NULL, END] = ['{"key":', ',"value":', 'null', ',"headers":{}}\n'].map((text) =>
  Buffer.from(text),
) as [Buffer, Buffer, Buffer, Buffer];
const QUOTE = 34;
/** How many blocks are used again: of the page being written, and of the one that waits. */
const SPARE_BLOCKS = 2;
/** Of the constant parts of a line, and its numbers. */
const FRAME_BYTES = 128;

export class MessageLines {
  readonly #plain = new PlainJson();
  readonly #keys: KeyForm;
  /** The members behind the value, up to the offset, of each topic and partition. */
  readonly #places = new Map<string, Buffer[]>();
  #out: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;
  readonly #spare: Buffer[] = [];

  constructor(keys: KeyForm) {
    this.#keys = keys;
  }

  /** Whether it need not be read. */
  passes({ key, value, headers }: Message): boolean {
    if (headers.length > 0 || (value !== null && !this.#plain.holds(value, 0, value.length)))
      return false;
    return key === null || this.#isPlainKey(key);
  }

  /** Adds a message that passes. */
  pass(message: Message): void {
    const { key, value, offset, timestamp } = message;
    const place = this.#placeOf(message);
    const size = (key?.length ?? 0) + (value?.length ?? 0) + place.length + FRAME_BYTES;
    this.#reserve(size);
    this.#put(LEAD);
    this.#putKey(key);
    this.#put(VALUE);
    this.#put(value ?? NULL);
    this.#put(place);
    this.#length += this.#out.write(`${offset},"timestamp":${timestamp}`, this.#length, 'latin1');
    this.#put(END);
  }

  /** Adds one that was read. */
  addRecord(record: JsonObject): void {
    const line = `${stringifyJson(record)}\n`;
    this.#reserve(Buffer.byteLength(line));
    this.#length += this.#out.write(line, this.#length);
  }

  /** What was added since, and how its memory is given back; the next lines go into other memory. */
  take(): { readonly block: Buffer; readonly release: () => void } {
    const whole = this.#out;
    const block = whole.subarray(0, this.#length);
    this.#out =
      this.#spare.pop() ??
      Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, Math.ceil(this.#length * 1.1)));
    this.#length = 0;
    const release = (): void => void (this.#spare.length < SPARE_BLOCKS && this.#spare.push(whole));
    return { block, release };
  }

  #isPlainKey(key: Buffer): boolean {
    return this.#keys === 'json'
      ? this.#plain.holds(key, 0, key.length)
      : this.#plain.holdsText(key, 0, key.length);
  }

  #putKey(key: Buffer | null): void {
    if (key === null) return this.#put(NULL);
    if (this.#keys === 'json') return this.#put(key);
    this.#out[this.#length++] = QUOTE;
    this.#put(key);
    this.#out[this.#length++] = QUOTE;
  }

  #put(bytes: Uint8Array): void {
    this.#out.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #placeOf({ topic, partition }: Message): Buffer {
    const known = this.#places.get(topic) ?? [];
    this.#places.set(topic, known);
    return (known[partition] ??= Buffer.from(
      `,"topic":${JSON.stringify(topic)},"partition":${partition},"offset":`,
    ));
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#out.length * 2));
    this.#out.copy(larger, 0, 0, this.#length);
    this.#out = larger;
  }
}
