/** SQL that makes values of their texts; lists, structs, maps and unions of their JSON. */
import { documentText, exactField } from '../text/json-literal.ts';
import { isObject, jsonText, setField, type JsonObject, type JsonValue } from '../text/json.ts';
import { keepSpelling, keepSpellings } from '../text/number-spelling.ts';
import { quoteText } from './duckdb.ts';
import { quoteName } from './sql-name.ts';

interface Member {
  readonly name: string;
  readonly type: Type;
}

type Type =
  | { readonly kind: 'leaf'; readonly name: string }
  | { readonly kind: 'list'; readonly item: Type; readonly suffix: string }
  | { readonly kind: 'struct' | 'union'; readonly members: readonly Member[] }
  | { readonly kind: 'map'; readonly key: Type; readonly value: Type };

/** The text of a value of which `fromText` makes one of the type of a column. */
export function textFor(value: JsonValue, sqlType: string): string {
  if (isNested(sqlType)) return documentText(fitted(value, new TypeReader(sqlType).type()));
  return sqlType === 'JSON' ? documentText(value) : jsonText(value);
}

/** A text as a value of the type of a column. */
export function fromText(text: string, sqlType: string): string {
  if (sqlType === 'BLOB') return `from_base64(${text})`;
  return isNested(sqlType) ? nestedValue(text, sqlType) : `CAST(${text} AS ${sqlType})`;
}

export function isNested(sqlType: string): boolean {
  return sqlType.endsWith(']') || /^(STRUCT|MAP|UNION)\b/.test(sqlType);
}

/**
 * SQL for a value of a nested type from its JSON text. JSON holds bytes as base64, which the engine
 * would take for the bytes themselves, and documents as texts: the engine would spell them anew, and
 * take the JSON null for no value.
 */
function nestedValue(text: string, sqlType: string): string {
  const type = new TypeReader(sqlType).type();
  if (!holdsCoded(type)) return `CAST(CAST(${text} AS JSON) AS ${sqlType})`;
  const read = `CAST(CAST(${text} AS JSON) AS ${nameOf(type, 'coded')})`;
  return `CAST(${decoded(read, type)} AS ${sqlType})`;
}

/** The value with documents as texts, and with all members of structs: the engine asks for each. */
function fitted(value: JsonValue, type: Type): JsonValue {
  if (value === null) return null;
  switch (type.kind) {
    case 'leaf':
      return isDocument(type) ? documentText(value) : value;
    case 'list':
      return Array.isArray(value) ? fittedItems(value, type.item) : value;
    case 'map':
      return isObject(value) ? fittedFields(value, () => type.value) : value;
    default: {
      if (!isObject(value)) return value;
      const types = new Map(type.members.map((one) => [one.name, one.type]));
      const fields = fittedFields(value, (name) => types.get(name));
      return type.kind === 'struct' ? withMembers(fields, type.members) : fields;
    }
  }
}

function fittedItems(items: JsonValue[], type: Type): JsonValue[] {
  // As it was written in a document; elsewhere the list remembers how its numbers were.
  const read = (index: number): JsonValue =>
    isDocument(type) ? exactField(items, String(index)) : (items[index] ?? null);
  const fit = items.map((_, index) => fitted(read(index), type));
  if (fit.every((item, index) => Object.is(item, items[index]))) return items;
  keepSpellings(items, fit);
  return fit;
}

/** The same object where nothing has to change: it may know its own text. */
function fittedFields(fields: JsonObject, typeOf: (name: string) => Type | undefined): JsonObject {
  let isSame = true;
  const fit: JsonObject = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name] ?? null;
    const type = typeOf(name);
    const one =
      type === undefined
        ? value
        : fitted(isDocument(type) ? exactField(fields, name) : value, type);
    isSame &&= Object.is(one, value);
    setField(fit, name, one);
    if (typeof one === 'number') keepSpelling(fields, name, fit, name);
  }
  return isSame ? fields : fit;
}

function withMembers(fields: JsonObject, members: readonly Member[]): JsonObject {
  const missing = members.filter(({ name }) => !Object.hasOwn(fields, name));
  if (missing.length === 0) return fields;
  // The engine compares names without regard to case.
  const known = new Set(Object.keys(fields).map((name) => name.toLowerCase()));
  const whole = { ...fields };
  for (const { name } of missing) if (!known.has(name.toLowerCase())) setField(whole, name, null);
  return whole;
}

function isDocument(type: Type): boolean {
  return type.kind === 'leaf' && type.name === 'JSON';
}

/** Whether values of the type stand in JSON in a form of their own. */
function holdsCoded(type: Type): boolean {
  switch (type.kind) {
    case 'leaf':
      return type.name === 'BLOB' || type.name === 'JSON';
    case 'list':
      return holdsCoded(type.item);
    case 'map':
      return holdsCoded(type.key) || holdsCoded(type.value);
    default:
      return type.members.some((member) => holdsCoded(member.type));
  }
}

/** `coded`: with texts in the place of what is written in a form of its own. */
function nameOf(type: Type, form: 'coded' | 'plain'): string {
  switch (type.kind) {
    case 'leaf':
      return form === 'coded' && holdsCoded(type) ? 'VARCHAR' : type.name;
    case 'list':
      return nameOf(type.item, form) + type.suffix;
    case 'map':
      return `MAP(${nameOf(type.key, form)}, ${nameOf(type.value, form)})`;
    default: {
      const members = type.members.map((one) => `${quoteName(one.name)} ${nameOf(one.type, form)}`);
      return `${type.kind.toUpperCase()}(${members.join(', ')})`;
    }
  }
}

function decoded(from: string, type: Type, depth = 0): string {
  if (!holdsCoded(type)) return from;
  const item = `v${depth}`;
  const inner = (value: string, one: Type): string => decoded(value, one, depth + 1);
  switch (type.kind) {
    case 'leaf':
      return type.name === 'BLOB' ? `from_base64(${from})` : `CAST(${from} AS JSON)`;
    case 'list':
      return `list_transform(${from}, lambda ${item}: ${inner(item, type.item)})`;
    case 'map': {
      const entry = `struct_pack(k := ${inner(`${item}.key`, type.key)}, v := ${inner(`${item}.value`, type.value)})`;
      return `map_from_entries(list_transform(map_entries(${from}), lambda ${item}: ${entry}))`;
    }
    case 'struct': {
      const fields = type.members.map(
        ({ name, type: one }) =>
          `${quoteName(name)} := ${inner(`struct_extract(${from}, ${quoteText(name)})`, one)}`,
      );
      return `CASE WHEN ${from} IS NULL THEN NULL ELSE struct_pack(${fields.join(', ')}) END`;
    }
    case 'union': {
      const whole = nameOf(type, 'plain');
      const cases = type.members.map(({ name, type: one }) => {
        const value = inner(`union_extract(${from}, ${quoteText(name)})`, one);
        return `WHEN ${quoteText(name)} THEN CAST(union_value(${quoteName(name)} := ${value}) AS ${whole})`;
      });
      return `CASE CAST(union_tag(${from}) AS VARCHAR) ${cases.join(' ')} END`;
    }
    default:
      return type satisfies never;
  }
}

/** Reads a type as the catalog of the engine spells it. */
class TypeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  type(): Type {
    let type = this.#base();
    for (let suffix = this.#take(/\[\d*\]/y); suffix !== ''; suffix = this.#take(/\[\d*\]/y))
      type = { kind: 'list', item: type, suffix };
    return type;
  }

  #base(): Type {
    const word = this.#take(/(?:STRUCT|UNION|MAP)\(/y);
    if (word === '') return { kind: 'leaf', name: this.#leaf() };
    if (word === 'MAP(') {
      const key = this.type();
      this.#take(/, /y);
      const value = this.type();
      this.#take(/\)/y);
      return { kind: 'map', key, value };
    }
    const members: Member[] = [];
    do members.push({ name: this.#name(), type: this.type() });
    while (this.#take(/, /y) !== '');
    this.#take(/\)/y);
    return { kind: word === 'STRUCT(' ? 'struct' : 'union', members };
  }

  #name(): string {
    const quoted = this.#take(/"(?:[^"]|"")*" /y);
    return quoted === ''
      ? this.#take(/[^ ]+ /y).slice(0, -1)
      : quoted.slice(1, -2).replaceAll('""', '"');
  }

  /** A name of one or more words, with what stands in parentheses behind it. */
  #leaf(): string {
    const quoted = this.#take(/"(?:[^"]|"")*"/y);
    if (quoted !== '') return quoted;
    return this.#take(/[^(),[\]]+(?:\((?:'(?:[^']|'')*'|[^()'])*\))?/y);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }
}
