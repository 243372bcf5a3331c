/**
 * Changes single places of a document, YAML or JSON, and leaves every other character as it is:
 * comments, quotes, blank lines and the way of indenting. It knows no page, so that it can be tested
 * without one.
 */
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

export type Step = string | number;
export type Value = unknown;

/** The values of a text; undefined where it cannot be read. */
export function valuesOf(text: string): Value {
  const document = parseDocument(text, { logLevel: 'silent' });
  if (document.errors.length > 0) return undefined;
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch {
    // A name that nothing has, or one that is used too often.
    return undefined;
  }
}

export function isMapping(value: Value): value is Readonly<Record<string, Value>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function valueAt(values: Value, steps: readonly Step[]): Value {
  return steps.reduce<Value>((value, step) => {
    if (Array.isArray(value)) return typeof step === 'number' ? value[step] : undefined;
    return isMapping(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }, values);
}

/**
 * The text with this value at this place; without the place when there is no value. Undefined: it
 * cannot be changed here without losing something, and has to be changed by hand.
 */
export function withValue(text: string, steps: readonly Step[], value: Value): string | undefined {
  const document = parseDocument(text, { logLevel: 'silent' });
  if (document.errors.length > 0) return undefined;
  const changed = new Change(text, document).apply(steps, value);
  return verified(text, changed, withStep(valuesOf(text), steps, value));
}

/** The text with these items behind those of a list, which may be missing. */
export function withItems(
  text: string,
  steps: readonly Step[],
  items: readonly Value[],
): string | undefined {
  const before = valueAt(valuesOf(text), steps);
  if (!Array.isArray(before) || before.length === 0) return withValue(text, steps, items);
  const document = parseDocument(text, { logLevel: 'silent' });
  const list: unknown = document.getIn(steps, true);
  if (document.errors.length > 0 || !isSeq(list)) return undefined;
  const changed = new Change(text, document).append(list, items);
  return verified(
    text,
    changed,
    withStep(valuesOf(text), steps, [...(before as Value[]), ...items]),
  );
}

/** Whatever the text looks like: it must say what was asked for, and each comment must be left. */
function verified(text: string, changed: string | undefined, wanted: Value): string | undefined {
  if (changed === undefined) return undefined;
  const isSame = JSON.stringify(valuesOf(changed)) === JSON.stringify(wanted);
  const left = new Set(commentsOf(changed));
  return isSame && commentsOf(text).every((comment) => left.has(comment)) ? changed : undefined;
}

export function withStep(values: Value, [step, ...rest]: readonly Step[], value: Value): Value {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list = Array.isArray(values) ? [...(values as Value[])] : [];
    list[step] = withStep(list[step], rest, value);
    return list;
  }
  const map = { ...(isMapping(values) ? values : {}) };
  const inner = withStep(map[step], rest, value);
  if (inner === undefined) delete map[step];
  else map[step] = inner;
  return map;
}

/** What stands behind `#`, each as often as it stands there. */
export function commentsOf(text: string): readonly string[] {
  const found: string[] = [];
  const look = (token: unknown): void => {
    if (Array.isArray(token)) token.forEach(look);
    else if (isMapping(token)) {
      if (token['type'] === 'comment') found.push(String(token['source']));
      else
        for (const name of ['start', 'key', 'sep', 'value', 'items', 'props', 'end'])
          look(token[name]);
    }
  };
  const document = parseDocument(text, { keepSourceTokens: true, logLevel: 'silent' });
  look(document.contents?.srcToken);
  return found;
}

class Change {
  readonly #text: string;
  readonly #document: Document;
  readonly #isJson: boolean;

  constructor(text: string, document: Document) {
    this.#text = text;
    this.#document = document;
    this.#isJson = text.trimStart().startsWith('{');
  }

  apply(steps: readonly Step[], value: Value): string | undefined {
    let node: unknown = this.#document.contents;
    if (node === null || (isScalar(node) && node.value === null)) {
      if (value === undefined) return this.#text;
      const before =
        this.#text === '' || this.#text.endsWith('\n') ? this.#text : `${this.#text}\n`;
      return before + this.#block(nested(steps, value), 0);
    }
    for (const [depth, step] of steps.entries()) {
      const rest = steps.slice(depth + 1);
      if (isMap(node)) {
        const pair: Pair | undefined = pairOf(node, step);
        if (pair === undefined)
          return value === undefined ? this.#text : this.#add(node, step, nested(rest, value));
        const isEmpty = pair.value === null || (isScalar(pair.value) && pair.value.value === null);
        if (rest.length === 0 || isEmpty) {
          if (value === undefined) return rest.length > 0 ? this.#text : this.#remove(node, pair);
          return this.#replace(pair, nested(rest, value));
        }
        node = pair.value;
      } else if (isSeq(node) && typeof step === 'number') {
        const item: unknown = node.items[step];
        if (item === undefined)
          return value === undefined || step !== node.items.length
            ? undefined
            : this.append(node, [nested(rest, value)]);
        if (rest.length === 0) return undefined;
        node = item;
      } else return undefined;
    }
    return undefined;
  }

  #with(from: number, to: number, by: string): string {
    return this.#text.slice(0, from) + by + this.#text.slice(to);
  }

  #column(offset: number): number {
    return offset - (this.#text.lastIndexOf('\n', offset - 1) + 1);
  }

  #lineEnd(offset: number): number {
    const end = this.#text.indexOf('\n', offset);
    return end === -1 ? this.#text.length : end;
  }

  /** Of what can be seen of a node: blank lines behind it are not part of it. */
  #end(node: Node): number {
    const [from, to] = rangeOf(node);
    return from + this.#text.slice(from, to).trimEnd().length;
  }

  #add(map: YAMLMap, key: Step, value: Value): string | undefined {
    const last = map.items.at(-1);
    const name = String(key);
    if (map.flow === true || this.#isJson) {
      const [from] = rangeOf(map);
      const member = this.#isJson
        ? `${JSON.stringify(name)}: ${JSON.stringify(value)}`
        : `${inline(name)}: ${inline(value)}`;
      if (last === undefined)
        return this.#with(from, rangeOf(map)[1], this.#isJson ? `{${member}}` : `{ ${member} }`);
      const first = rangeOf(map.items[0]?.key as Node)[0];
      const isOnLines = this.#text.slice(from, first).includes('\n');
      const gap = isOnLines ? `\n${' '.repeat(this.#column(first))}` : ' ';
      const end = this.#end((last.value ?? last.key) as Node);
      return this.#with(end, end, `,${gap}${member}`);
    }
    if (last === undefined) return undefined;
    const column = this.#column(rangeOf(map.items[0]?.key as Node)[0]);
    return this.#insertAfter(last, this.#block({ [name]: value }, column));
  }

  /** Lines behind what stands last, and behind a comment beside it. */
  #insertAfter(last: Pair | Node, lines: string): string {
    const node = isNode(last) ? last : ((last.value ?? last.key) as Node);
    const at = this.#lineEnd(this.#end(node));
    return this.#with(at, at, `\n${lines.trimEnd()}`);
  }

  append(list: YAMLSeq, values: readonly Value[]): string | undefined {
    const last = list.items.at(-1);
    if (list.flow === true || this.#isJson) {
      const items = values.map((value) => (this.#isJson ? JSON.stringify(value) : inline(value)));
      const [from, to] = rangeOf(list);
      if (!isNode(last)) return this.#with(from, to, `[${items.join(', ')}]`);
      const first = rangeOf(list.items[0] as Node)[0];
      const isOnLines = this.#text.slice(from, first).includes('\n');
      const gap = isOnLines ? `\n${' '.repeat(this.#column(first))}` : ' ';
      const end = this.#end(last);
      return this.#with(end, end, items.map((item) => `,${gap}${item}`).join(''));
    }
    if (!isNode(last)) return undefined;
    const column = this.#column(rangeOf(list)[0]);
    return this.#insertAfter(last, this.#block(values, column));
  }

  #replace(pair: Pair, value: Value): string | undefined {
    const key = pair.key as Node;
    const old = isNode(pair.value) ? pair.value : undefined;
    if (old !== undefined && (isAlias(old) || old.anchor !== undefined)) return undefined;
    const [keyFrom, keyEnd] = rangeOf(key);
    const colon = this.#text.indexOf(':', keyEnd);
    const isEmpty = old === undefined || (isScalar(old) && old.value === null && old.source === '');
    const [from, to] = isEmpty ? [colon + 1, colon + 1] : [rangeOf(old)[0], this.#end(old)];
    if (this.#isJson) return this.#with(from, to, JSON.stringify(value));
    const isPlain = !isMapping(value) && !Array.isArray(value);
    if (
      isPlain ||
      this.#isInFlow(keyFrom) ||
      (!isEmpty && isCollection(old) && old.flow === true)
    ) {
      const isInFlow = this.#isInFlow(keyFrom);
      const isLong = !isInFlow && typeof value === 'string' && value.includes('\n');
      const text = isLong
        ? long(value, this.#column(keyFrom))
        : isPlain && !isInFlow
          ? scalar(value)
          : inline(value);
      return this.#with(from, to, isEmpty ? ` ${text}` : text);
    }
    const lines = this.#block(value, this.#column(keyFrom) + 2).trimEnd();
    if (isEmptyCollection(value)) return this.#with(colon + 1, to, ` ${inline(value)}`);
    // A comment beside the key stays beside it.
    if (isEmpty) {
      const end = this.#lineEnd(colon);
      return this.#with(end, end, `\n${lines}`);
    }
    if (isCollection(old)) {
      const start = from - this.#column(from);
      const isBelow = start > colon;
      return this.#with(isBelow ? start : from, to, isBelow ? lines : `\n${lines}`);
    }
    const end = this.#lineEnd(to);
    return (
      this.#with(end, end, `\n${lines}`).slice(0, colon + 1) +
      this.#with(end, end, `\n${lines}`).slice(to)
    );
  }

  #remove(map: YAMLMap, pair: Pair): string | undefined {
    const at = map.items.indexOf(pair);
    const from = rangeOf(pair.key as Node)[0];
    const end = this.#end((pair.value ?? pair.key) as Node);
    if (map.flow === true || this.#isJson) {
      const next = map.items[at + 1];
      const before = map.items[at - 1];
      if (next !== undefined) return this.#with(from, rangeOf(next.key as Node)[0], '');
      const start = before === undefined ? from : this.#end((before.value ?? before.key) as Node);
      return this.#with(start, end, '');
    }
    if (map.items.length === 1) return this.#removeLast(map, from, end);
    const isFirst = this.#text.slice(from - this.#column(from), from).trim() !== '';
    const next = map.items[at + 1];
    if (isFirst) {
      // It shares its line with the dash of a list.
      return next === undefined ? undefined : this.#with(from, rangeOf(next.key as Node)[0], '');
    }
    const start = from - this.#column(from);
    const comment = this.#text.slice(end, this.#lineEnd(end)).trim();
    const kept = comment === '' ? '' : `${' '.repeat(this.#column(from))}${comment}\n`;
    return this.#with(start, this.#lineEnd(end) + 1, kept);
  }

  /** A map without members is `{}`: without anything it would be null. */
  #removeLast(map: YAMLMap, from: number, end: number): string | undefined {
    if (rangeOf(map)[0] !== from) return undefined;
    return this.#with(from, end, '{}');
  }

  #isInFlow(offset: number): boolean {
    let isInside = false;
    const look = (node: unknown): void => {
      if (!isCollection(node)) return;
      const [from, to] = rangeOf(node);
      if (offset < from || offset >= to) return;
      if (node.flow === true) isInside = true;
      for (const item of node.items) look(isNode(item) ? item : (item as Pair).value);
    };
    look(this.#document.contents);
    return isInside;
  }

  /** As lines that begin in this column. */
  #block(value: Value, column: number): string {
    if (this.#isJson) return JSON.stringify(value);
    const text = stringify(value, { lineWidth: 0, indent: 2 });
    return text
      .split('\n')
      .map((line) => (line === '' ? line : ' '.repeat(column) + line))
      .join('\n');
  }
}

function nested(steps: readonly Step[], value: Value): Value {
  return steps.reduceRight<Value>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  );
}

function isCollection(node: unknown): node is YAMLMap | YAMLSeq {
  return isMap(node) || isSeq(node);
}

function isEmptyCollection(value: Value): boolean {
  return Array.isArray(value)
    ? value.length === 0
    : isMapping(value) && Object.keys(value).length === 0;
}

function pairOf(map: YAMLMap, key: Step): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(key));
}

function rangeOf(node: Node): readonly [number, number] {
  const [from = 0, to = 0] = node.range ?? [];
  return [from, to];
}

/** On one line, as it stands behind a key. */
function scalar(value: Value): string {
  return typeof value === 'string' && value.includes('\n')
    ? JSON.stringify(value)
    : stringify(value, { lineWidth: 0 }).trimEnd();
}

/** As it stands between brackets. */
function inline(value: Value): string {
  if (typeof value === 'string' && value.includes('\n')) return JSON.stringify(value);
  const text = stringify([value], { collectionStyle: 'flow', lineWidth: 0 });
  return text.replace(/^\[\s*/, '').replace(/\s*\]\s*$/, '');
}

/** A text of several lines, below its key. */
function long(value: string, column: number): string {
  const [head = '', ...lines] = stringify({ q: value }, { lineWidth: 0 })
    .trimEnd()
    .slice(3)
    .split('\n');
  const below = lines.map((line) => (line === '' ? line : ' '.repeat(column) + line));
  return /^[|>]/.test(head) ? [head, ...below].join('\n') : JSON.stringify(value);
}
