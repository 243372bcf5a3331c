/** Logical types as text: `timestamp(us, UTC)`, `decimal(12, 2)`, `list(int32)`. */
import {
  SIMPLE_TYPES,
  TIME_UNITS,
  type RecordField,
  type RecordSchema,
  type RecordType,
  type SimpleTypeName,
  type TimeUnit,
} from './record-schema.ts';

export function typeText(type: RecordType): string {
  switch (type.kind) {
    case 'decimal':
      return type.precision === undefined
        ? 'decimal'
        : `decimal(${type.precision}, ${type.scale ?? 0})`;
    case 'timestamp':
      return `timestamp(${type.unit}${type.zone === undefined ? '' : `, ${type.zone}`})`;
    case 'list':
      return `list(${typeText(type.item)})`;
    case 'struct':
      return `struct(${type.fields.map(fieldText).join(', ')})`;
    case 'map':
      return `map(${typeText(type.key)}, ${typeText(type.value)})`;
    default:
      return type.kind;
  }
}

const PLAIN_NAME = /^[A-Za-z_]\w*$/;

/** `id: int64`, with `not null` where null cannot occur. */
export function fieldText({ name, type, nullable }: RecordField): string {
  const written = PLAIN_NAME.test(name) ? name : JSON.stringify(name);
  return `${written}: ${typeText(type)}${nullable ? '' : ' not null'}`;
}

/** All fields in one line; `…` stands for fields that are not known. */
export function schemaText({ fields, others }: RecordSchema): string {
  return [...fields.map(fieldText), ...(others === true ? ['…'] : [])].join(', ');
}

export const TYPE_FORMS =
  'bool, int8 to int64, uint8 to uint64, float32, float64, decimal(precision, scale), utf8, binary, date, time, timestamp(unit, zone), interval, uuid, json, list(type), struct(name: type, …), map(type, type)';

/** Reads what `typeText` writes; `undefined` for anything else. */
export function parseType(text: string): RecordType | undefined {
  const reader = new TypeReader(text);
  const type = reader.type();
  return type !== undefined && reader.atEnd ? type : undefined;
}

const MOST_DIGITS = 1000;
/** Deeper types are refused, so that a document cannot exhaust the stack. */
const DEEPEST = 32;

class TypeReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    this.#take(/\s*/y);
    return this.#at === this.#text.length;
  }

  type(): RecordType | undefined {
    this.#depth += 1;
    const name = this.#take(/\s*[a-z]\w*/y)?.trim();
    const type = name === undefined || this.#depth > DEEPEST ? undefined : this.#typeNamed(name);
    this.#depth -= 1;
    return type;
  }

  #typeNamed(name: string): RecordType | undefined {
    if (isSimple(name)) return { kind: name };
    switch (name) {
      case 'decimal':
        return this.#decimal();
      case 'timestamp':
        return this.#timestamp();
      case 'list': {
        const item = this.#open() ? this.type() : undefined;
        return item !== undefined && this.#close() ? { kind: 'list', item } : undefined;
      }
      case 'struct':
        return this.#struct();
      case 'map': {
        const key = this.#open() ? this.type() : undefined;
        const value = key !== undefined && this.#comma() ? this.type() : undefined;
        return key !== undefined && value !== undefined && this.#close()
          ? { kind: 'map', key, value }
          : undefined;
      }
      default:
        return undefined;
    }
  }

  #decimal(): RecordType | undefined {
    if (!this.#open()) return { kind: 'decimal' };
    const precision = this.#take(/\s*\d{1,4}/y);
    const scale = this.#comma() ? this.#take(/\s*-?\d{1,4}/y) : '0';
    if (precision === undefined || scale === undefined || !this.#close()) return undefined;
    const digits = Number(precision);
    return digits >= 1 && digits <= MOST_DIGITS
      ? { kind: 'decimal', precision: digits, scale: Number(scale) }
      : undefined;
  }

  #timestamp(): RecordType | undefined {
    if (!this.#open()) return { kind: 'timestamp', unit: 'us' };
    const unit = this.#take(/\s*[a-z]+/y)?.trim();
    const zone = this.#comma() ? this.#take(/\s*[A-Za-z0-9_+:/-]+/y)?.trim() : '';
    if (!isUnit(unit) || zone === undefined || !this.#close()) return undefined;
    return { kind: 'timestamp', unit, ...(zone === '' ? {} : { zone }) };
  }

  #struct(): RecordType | undefined {
    if (!this.#open()) return undefined;
    const fields: RecordField[] = [];
    if (this.#close()) return { kind: 'struct', fields };
    do {
      const name = this.#name();
      const type =
        name !== undefined && this.#take(/\s*:/y) !== undefined ? this.type() : undefined;
      if (name === undefined || type === undefined) return undefined;
      fields.push({ name, type, nullable: this.#take(/\s*not null/y) === undefined });
    } while (this.#comma());
    return this.#close() ? { kind: 'struct', fields } : undefined;
  }

  #name(): string | undefined {
    const quoted = this.#take(/\s*"(?:[^"\\]|\\.)*"/y);
    if (quoted === undefined) return this.#take(/\s*[A-Za-z_]\w*/y)?.trim();
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return undefined;
    }
  }

  #open(): boolean {
    return this.#take(/\s*\(/y) !== undefined;
  }

  #close(): boolean {
    return this.#take(/\s*\)/y) !== undefined;
  }

  #comma(): boolean {
    return this.#take(/\s*,/y) !== undefined;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

function isSimple(name: string): name is SimpleTypeName {
  return (SIMPLE_TYPES as readonly string[]).includes(name);
}

function isUnit(unit: string | undefined): unit is TimeUnit {
  return (TIME_UNITS as readonly (string | undefined)[]).includes(unit);
}
