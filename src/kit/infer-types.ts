/**
 * Finds the types of values that have none, or only those of JSON. A type is chosen only if every
 * value is written in the one form that the type would give it back in: `007`, `+7`, `1e5` and
 * numbers of more digits than their type holds stay texts, so that no letter is lost.
 */
import { isCalendarDate } from '../lib/time/rfc3339.ts';
import { count, thousands } from '../lib/text/count.ts';
import { isObject, type JsonValue } from '../lib/text/json.ts';
import type { RecordField, RecordSchema, RecordType, TypeEvidence } from './record-schema.ts';
import { hasTypeForm } from './typed-values.ts';

export interface InferenceOptions {
  /** Whether values are texts: those of JSON that spell a number stay texts. */
  readonly fromText: boolean;
  /** These fields have types already. */
  readonly declared?: RecordSchema | undefined;
}

/** Digits that databases keep in a decimal number. */
const MOST_DIGITS = 38;
/** Digits of a second that a timestamp in microseconds holds, and one in nanoseconds. */
const MICROS = 6;
const NANOS = 9;

const FORMS = {
  bool: 'true or false',
  whole: 'a whole number',
  fraction: 'a number with a fraction',
  exponent: 'a number with an exponent',
  date: 'a date',
  clock: 'a time without a zone',
  instant: 'a time in UTC',
  uuid: 'a UUID',
  nested: 'a list or an object',
  large: 'a number of more than 64 bits',
  text: 'a text',
} as const;
type Form = keyof typeof FORMS;

interface Seen {
  readonly form: Form;
  /** Why it is a text and no number. */
  readonly why?: string;
}

/** Looks at records until it is asked for their types. */
export class TypeInference {
  readonly #options: InferenceOptions;
  readonly #fields = new Map<string, FieldValues>();
  #records = 0;

  constructor(options: InferenceOptions) {
    this.#options = options;
  }

  get records(): number {
    return this.#records;
  }

  /** Returns about how many letters were looked at. */
  add(record: JsonValue): number {
    this.#records += 1;
    if (!isObject(record)) return 1;
    let size = 0;
    for (const [name, value] of Object.entries(record)) {
      let field = this.#fields.get(name);
      if (field === undefined)
        this.#fields.set(name, (field = new FieldValues(this.#options.fromText)));
      field.add(value, this.#records);
      size += typeof value === 'string' ? value.length + 1 : 1;
    }
    return size;
  }

  /** Fields that were not seen may occur all the same. */
  schema(): RecordSchema {
    const declared = this.#options.declared?.fields ?? [];
    const inferred = [...this.#fields].flatMap(([name, values]): RecordField[] => {
      const type = declared.some((field) => field.name === name) ? undefined : values.type();
      return type === undefined ? [] : [{ name, nullable: true, ...type }];
    });
    const order = [...this.#fields.keys()];
    const fields = [...declared, ...inferred].sort((a, b) => placeOf(a, order) - placeOf(b, order));
    return { fields, others: true };
  }
}

function placeOf({ name }: RecordField, order: readonly string[]): number {
  const place = order.indexOf(name);
  return place === -1 ? order.length : place;
}

type Inferred = Pick<RecordField, 'type' | 'evidence'>;

class FieldValues {
  readonly #fromText: boolean;
  /** The record that had each form first. */
  readonly #first = new Map<Form, { readonly record: number; readonly why?: string | undefined }>();
  #values = 0;
  #empty = 0;
  #wholeDigits = 0;
  #mostDecimals = 0;
  #fewestDecimals = Infinity;
  /** The record with the most decimals, or the most digits of a second. */
  #longest = 0;
  #secondDigits = 0;
  /** Whether each number is the shortest spelling of a double. */
  #areDoubles = true;

  constructor(fromText: boolean) {
    this.#fromText = fromText;
  }

  add(value: JsonValue, record: number): void {
    if (value === null || (this.#fromText && value === '')) {
      this.#empty += 1;
      return;
    }
    this.#values += 1;
    const { form, why } = this.#look(value, record);
    if (!this.#first.has(form)) this.#first.set(form, { record, why });
  }

  #look(value: JsonValue, record: number): Seen {
    if (typeof value === 'boolean') return { form: 'bool' };
    if (typeof value === 'bigint' || typeof value === 'number') return this.#number(value);
    if (typeof value !== 'string') return { form: 'nested' };
    return (this.#fromText ? this.#spelled(value, record) : undefined) ?? this.#text(value, record);
  }

  #number(value: number | bigint): Seen {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) return { form: 'fraction' };
    if (typeof value === 'bigint') this.#areDoubles = false;
    return { form: hasTypeForm(value, { kind: 'int64' }) ? 'whole' : 'large' };
  }

  /** A number or a boolean. */
  #spelled(text: string, record: number): Seen | undefined {
    if (text === 'true' || text === 'false') return { form: 'bool' };
    if (!NUMBER_LIKE.test(text)) return undefined;
    const [, minus = '', whole = '', fraction] = PLAIN_NUMBER.exec(text) ?? [];
    if (String(Number(text)) !== text) this.#areDoubles = false;
    if (whole === '') return this.#unusual(text);
    if (minus !== '' && Number(text) === 0) return { form: 'text', why: 'is a negative zero' };
    if (fraction === undefined) {
      if (!hasTypeForm(BigInt(text), { kind: 'int64' }))
        return { form: 'text', why: 'has more than 64 bits' };
      this.#wholeDigits = Math.max(this.#wholeDigits, whole.length);
      return { form: 'whole' };
    }
    if (fraction.length > this.#mostDecimals) this.#longest = record;
    this.#mostDecimals = Math.max(this.#mostDecimals, fraction.length);
    this.#fewestDecimals = Math.min(this.#fewestDecimals, fraction.length);
    this.#wholeDigits = Math.max(this.#wholeDigits, whole === '0' ? 0 : whole.length);
    return { form: 'fraction' };
  }

  #unusual(text: string): Seen {
    if (String(Number(text)) === text) return { form: 'exponent' };
    if (text.startsWith('+')) return { form: 'text', why: 'has a plus sign' };
    if (/^-?0\d/.test(text)) return { form: 'text', why: 'has a leading zero' };
    return { form: 'text', why: 'spells a number in another way' };
  }

  #text(text: string, record: number): Seen {
    if (UUID.test(text)) return { form: 'uuid' };
    const [, date, clock, fraction = '', zone] = MOMENT.exec(text) ?? [];
    if (date === undefined || date.startsWith('0000') || !isCalendarDate(date))
      return { form: 'text' };
    if (clock === undefined) return { form: 'date' };
    if (fraction.length > NANOS) return { form: 'text', why: 'has more digits than a time' };
    if (fraction.length > this.#secondDigits) {
      this.#secondDigits = fraction.length;
      this.#longest = record;
    }
    return { form: zone === undefined ? 'clock' : 'instant' };
  }

  /** `undefined` for a field of JSON without any value. */
  type(): Inferred | undefined {
    const forms = [...this.#first.keys()];
    if (forms.length === 0 && !this.#fromText) return undefined;
    const type = this.#common(new Set(forms));
    if (type !== undefined) return this.#because(type, this.#decider(type));
    const kind = this.#fromText || forms.every((form) => TEXTUAL.has(form)) ? 'utf8' : 'json';
    return this.#because({ kind }, this.#difference(forms));
  }

  #common(forms: ReadonlySet<Form>): RecordType | undefined {
    const [only] = forms;
    if (forms.size > 1) return isNumeric(forms) ? this.#numeric(forms) : undefined;
    switch (only) {
      case 'bool':
      case 'date':
      case 'uuid':
        return { kind: only };
      case 'whole':
        return { kind: 'int64' };
      case 'fraction':
      case 'exponent':
        return this.#numeric(forms);
      case 'clock':
        return { kind: 'timestamp', unit: this.#unit() };
      case 'instant':
        return { kind: 'timestamp', unit: this.#unit(), zone: 'UTC' };
      case 'nested':
        return { kind: 'json' };
      case 'text':
        return { kind: 'utf8' };
      default:
        return undefined;
    }
  }

  #numeric(forms: ReadonlySet<Form>): RecordType | undefined {
    const sameScale =
      this.#fromText && forms.size === 1 && this.#fewestDecimals === this.#mostDecimals;
    if (this.#areDoubles && !(sameScale && forms.has('fraction'))) return { kind: 'float64' };
    if (!this.#fromText || forms.has('exponent')) return undefined;
    return this.#wholeDigits + this.#mostDecimals > MOST_DIGITS
      ? undefined
      : { kind: 'decimal', precision: MOST_DIGITS, scale: this.#mostDecimals };
  }

  #unit(): 'us' | 'ns' {
    return this.#secondDigits > MICROS ? 'ns' : 'us';
  }

  /** The record that decided between types of one family, or for a text. */
  #decider({ kind }: RecordType): string | undefined {
    if (kind === 'utf8') return this.#said('text');
    if (kind === 'float64') return this.#said('exponent') ?? this.#said('fraction');
    if (kind === 'decimal')
      return `record ${thousands(this.#longest)} has ${count(this.#mostDecimals, 'decimal')}`;
    return kind === 'timestamp' && this.#secondDigits > MICROS
      ? `record ${thousands(this.#longest)} has ${this.#secondDigits} digits of a second`
      : undefined;
  }

  #difference(forms: readonly Form[]): string | undefined {
    const text = forms.length > 0 ? this.#said('text') : undefined;
    if (text !== undefined) return text;
    if (isNumeric(new Set(forms))) return 'no type of numbers holds the digits of all values';
    const [first, second] = forms.map((form) => this.#said(form));
    return [first, second].filter((said) => said !== undefined).join(', ') || undefined;
  }

  #said(form: Form): string | undefined {
    const first = this.#first.get(form);
    if (first === undefined) return undefined;
    return `record ${thousands(first.record)} ${first.why ?? `is ${FORMS[form]}`}`;
  }

  #because(type: RecordType, because: string | undefined): Inferred {
    const evidence: TypeEvidence = {
      values: this.#values,
      empty: this.#empty,
      ...(because === undefined ? {} : { because }),
    };
    return { type, evidence };
  }
}

const NUMBER_LIKE = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const PLAIN_NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** An offset would be lost where only the instant is stored, so such a time stays a text. */
const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(Z)?)?$/;

const NUMERIC: ReadonlySet<Form> = new Set(['whole', 'fraction', 'exponent']);

const TEXTUAL: ReadonlySet<Form> = new Set(['date', 'clock', 'instant', 'uuid', 'text']);

function isNumeric(forms: ReadonlySet<Form>): boolean {
  return forms.size > 0 && [...forms].every((form) => NUMERIC.has(form));
}
