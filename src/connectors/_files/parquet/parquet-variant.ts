import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { dateText, timestampText, timeText } from '../../../lib/time/iso-text.ts';
import { decimalText, floatNumber, uuidText, wholeNumber } from './exact-values.ts';
import { textOf } from './parquet-text.ts';

/**
 * Values of the type VARIANT, which carry their types with them
 * (https://parquet.apache.org/docs/file-format/types/variantencoding/). The library has a decoder,
 * which makes doubles of decimals and knows nothing of the types of shredded columns.
 */
export function decodeVariant(metadata: Uint8Array, value: Uint8Array): JsonValue {
  const view = viewOf(value);
  return new VariantReader(view, namesOf(metadata)).value(0);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** An unsigned number of one to four bytes. */
function unsigned(view: DataView, at: number, width: number): number {
  let value = 0;
  for (let index = width - 1; index >= 0; index -= 1)
    value = value * 256 + view.getUint8(at + index);
  return value;
}

function textAt(view: DataView, from: number, to: number): string {
  if (from > to || to > view.byteLength) throw new RangeError('a text ends outside of its value');
  return textOf(new Uint8Array(view.buffer, view.byteOffset + from, to - from));
}

/** The names of object fields, which values refer to by number. */
function namesOf(metadata: Uint8Array): string[] {
  const view = viewOf(metadata);
  const header = view.getUint8(0);
  if ((header & 0x0f) !== 1) throw new RangeError('a VARIANT of an unknown version');
  const width = (header >> 6) + 1;
  const count = unsigned(view, 1, width);
  const offsetAt = (index: number) => unsigned(view, 1 + width * (index + 1), width);
  const start = 1 + width * (count + 2);
  return Array.from({ length: count }, (_, index) =>
    textAt(view, start + offsetAt(index), start + offsetAt(index + 1)),
  );
}

/** A damaged value may have more levels than the stack. */
const MOST_LEVELS = 500;

class VariantReader {
  readonly #view: DataView;
  readonly #names: readonly string[];
  /** Each value has a byte of its own; values that share bytes could be made any number of times. */
  #left: number;
  #level = 0;

  constructor(view: DataView, names: readonly string[]) {
    this.#view = view;
    this.#names = names;
    this.#left = view.byteLength;
  }

  value(at: number): JsonValue {
    this.#left -= 1;
    if (this.#left < 0) throw new RangeError('values that share their bytes');
    this.#level += 1;
    if (this.#level > MOST_LEVELS) throw new RangeError(`more than ${MOST_LEVELS} levels`);
    const value = this.#valueAt(at);
    this.#level -= 1;
    return value;
  }

  #valueAt(at: number): JsonValue {
    const head = this.#view.getUint8(at);
    const header = head >> 2;
    switch (head & 3) {
      case 0:
        return this.#primitive(header, at + 1);
      case 1:
        return textAt(this.#view, at + 1, at + 1 + header);
      case 2:
        return this.#object(header, at + 1);
      default:
        return this.#array(header, at + 1);
    }
  }

  #object(header: number, at: number): JsonObject {
    const offsetWidth = (header & 3) + 1;
    const idWidth = ((header >> 2) & 3) + 1;
    const countWidth = (header >> 4) & 1 ? 4 : 1;
    const count = unsigned(this.#view, at, countWidth);
    const ids = at + countWidth;
    const offsets = ids + count * idWidth;
    const values = offsets + (count + 1) * offsetWidth;
    const out: JsonObject = {};
    for (let index = 0; index < count; index += 1) {
      const name = this.#names[unsigned(this.#view, ids + index * idWidth, idWidth)];
      if (name === undefined) throw new RangeError('a field without a name');
      const offset = unsigned(this.#view, offsets + index * offsetWidth, offsetWidth);
      setField(out, name, this.value(values + offset));
    }
    return out;
  }

  #array(header: number, at: number): JsonValue[] {
    const offsetWidth = (header & 3) + 1;
    const countWidth = (header >> 2) & 1 ? 4 : 1;
    const count = unsigned(this.#view, at, countWidth);
    const offsets = at + countWidth;
    const values = offsets + (count + 1) * offsetWidth;
    return Array.from({ length: count }, (_, index) =>
      this.value(values + unsigned(this.#view, offsets + index * offsetWidth, offsetWidth)),
    );
  }

  #primitive(type: number, at: number): JsonValue {
    const view = this.#view;
    const long = () => view.getBigInt64(at, true);
    switch (type) {
      case 0:
        return null;
      case 1:
        return true;
      case 2:
        return false;
      case 3:
        return view.getInt8(at);
      case 4:
        return view.getInt16(at, true);
      case 5:
        return view.getInt32(at, true);
      case 6:
        return wholeNumber(long());
      case 7:
        return floatNumber(view.getFloat64(at, true));
      case 8:
        return decimalText(BigInt(view.getInt32(at + 1, true)), view.getUint8(at));
      case 9:
        return decimalText(view.getBigInt64(at + 1, true), view.getUint8(at));
      case 10:
        return decimalText(
          (view.getBigInt64(at + 9, true) << 64n) | view.getBigUint64(at + 1, true),
          view.getUint8(at),
        );
      case 11:
        return dateText(view.getInt32(at, true));
      case 12:
        return timestampText(long() * 1000n, true);
      case 13:
        return timestampText(long() * 1000n, false);
      case 14:
        return floatNumber(view.getFloat32(at, true));
      case 15:
        return this.#sized(at).toString('base64');
      case 16:
        return textOf(this.#sized(at));
      case 17:
        return timeText(long() * 1000n);
      case 18:
        return timestampText(long(), true);
      case 19:
        return timestampText(long(), false);
      case 20:
        return uuidText(new Uint8Array(view.buffer, view.byteOffset + at, 16));
      default:
        throw new RangeError(`a VARIANT with a value of the unknown type ${type}`);
    }
  }

  #sized(at: number): Buffer {
    const length = this.#view.getUint32(at, true);
    if (at + 4 + length > this.#view.byteLength)
      throw new RangeError('a value ends outside of its column');
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + at + 4, length);
  }
}
