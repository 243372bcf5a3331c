/** SQL that makes values of their texts; lists, structs, maps and unions of their JSON. */
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
 * would take for the bytes themselves.
 */
function nestedValue(text: string, sqlType: string): string {
  const type = new TypeReader(sqlType).type();
  if (!holdsBytes(type)) return `CAST(CAST(${text} AS JSON) AS ${sqlType})`;
  const read = `CAST(CAST(${text} AS JSON) AS ${nameOf(type, 'VARCHAR')})`;
  return `CAST(${decoded(read, type)} AS ${sqlType})`;
}

function holdsBytes(type: Type): boolean {
  switch (type.kind) {
    case 'leaf':
      return type.name === 'BLOB';
    case 'list':
      return holdsBytes(type.item);
    case 'map':
      return holdsBytes(type.key) || holdsBytes(type.value);
    default:
      return type.members.some((member) => holdsBytes(member.type));
  }
}

function nameOf(type: Type, bytes: 'BLOB' | 'VARCHAR'): string {
  switch (type.kind) {
    case 'leaf':
      return type.name === 'BLOB' ? bytes : type.name;
    case 'list':
      return nameOf(type.item, bytes) + type.suffix;
    case 'map':
      return `MAP(${nameOf(type.key, bytes)}, ${nameOf(type.value, bytes)})`;
    default: {
      const members = type.members.map(
        (one) => `${quoteName(one.name)} ${nameOf(one.type, bytes)}`,
      );
      return `${type.kind.toUpperCase()}(${members.join(', ')})`;
    }
  }
}

function decoded(from: string, type: Type, depth = 0): string {
  if (!holdsBytes(type)) return from;
  const item = `v${depth}`;
  const inner = (value: string, one: Type): string => decoded(value, one, depth + 1);
  switch (type.kind) {
    case 'leaf':
      return `from_base64(${from})`;
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
      const whole = nameOf(type, 'BLOB');
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
