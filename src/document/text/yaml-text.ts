/**
 * YAML 1.2 core text to plain values, over the event stream of the parser: checks and places come
 * from the same events.
 */
import {
  CORE_SCHEMA,
  constructFromEvents,
  defineScalarTag,
  EVENT_ID,
  getScalarValue,
  intCoreTag,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  YAMLException,
  type Event,
} from 'js-yaml';
import { Include } from '../compose/include.ts';
import { MAX_ALIASED_NODES, MAX_DEPTH, MAX_KEYS, TOO_MANY_KEYS } from './limits.ts';
import type { PlaceNode } from './locate.ts';
import { FIRST_DOCUMENT, textFault, TextFault } from './text-fault.ts';
import { yamlReason } from './yaml-reason.ts';

/** Integers beyond the safe range keep every digit. */
const exactInteger = defineScalarTag<number | bigint>(intCoreTag.tagName, {
  ...intCoreTag,
  resolve(source, isExplicit, tagName) {
    const value = intCoreTag.resolve(source, isExplicit, tagName);
    if (typeof value !== 'number') return NOT_RESOLVED;
    return Number.isSafeInteger(value) || !/^[-+]?\d+$/.test(source)
      ? value
      : BigInt(source.replace('+', ''));
  },
});

const includeTag = defineScalarTag<Include>('!include', {
  resolve: (source) => new Include(source),
  identify: () => false,
});

const SCHEMA = CORE_SCHEMA.withTags(mergeTag, exactInteger, includeTag);

/**
 * The single document of the text, with an `Include` for each `!include`. Throws `TextFault`. Nodes
 * may be shared where aliases stood.
 */
export function parseYaml(text: string): unknown {
  try {
    const events = parseEvents(text, { maxDepth: MAX_DEPTH + 1 });
    checkEvents(text, events);
    return constructFromEvents(events, { source: text, schema: SCHEMA })[0];
  } catch (error) {
    if (error instanceof YAMLException)
      throw tabFault(text, error) ?? tokenFault(text, error) ?? faultOf(text, error);
    throw error;
  }
}

function faultOf(text: string, error: YAMLException): TextFault {
  const place =
    error.mark === undefined ? {} : { line: error.mark.line + 1, column: error.mark.column + 1 };
  if (error.reason.includes('duplicated mapping key')) {
    return new TextFault({ code: 'duplicate_key', ...repeatedKey(text, place), ...place });
  }
  if (error.reason.includes('complex keys')) {
    return new TextFault({ code: 'bad_yaml', message: 'a key must be a plain text', ...place });
  }
  if (error.reason.includes('cannot merge mappings')) {
    const hint = '`<<` takes an alias of a mapping in the same file; `extends` merges files';
    return new TextFault({
      code: 'bad_yaml',
      message: '`<<` can merge nothing but mappings',
      hint,
      ...place,
    });
  }
  if (error.reason.includes('nesting exceeded'))
    return new TextFault({ code: 'too_deep', message: tooDeep(), ...place });
  const { says = error.reason, hint } = yamlReason(error.reason);
  return new TextFault({
    code: 'bad_yaml',
    message: `the text is not valid YAML: ${says}`,
    ...(hint === undefined ? {} : { hint }),
    ...place,
  });
}

/** The key, and where the other one stands: the nearest line above that begins with it. */
function repeatedKey(
  text: string,
  { line = 1, column = 1 }: { line?: number; column?: number },
): { readonly message: string; readonly hint: string } {
  const lines = text.split('\n', line);
  const [key = ''] = /^[\w.-]{1,60}(?=\s*:)/.exec((lines[line - 1] ?? '').slice(column - 1)) ?? [];
  if (key === '')
    return { message: 'this key is used twice in one mapping', hint: 'remove one of the two' };
  const start = `${(lines[line - 1] ?? '').slice(0, column - 1)}${key}:`;
  const above = lines.slice(0, line - 1).findLastIndex((one) => one.startsWith(start));
  const other = above === -1 ? '' : `; the other one is in line ${above + 1}`;
  return {
    message: `the key \`${key}\` is used twice in one mapping`,
    hint: `remove one of the two, or rename it${other}`,
  };
}

/** A token without quotes inside of `{…}` or `[…]`, where its own brace begins a mapping. */
function tokenFault(text: string, { reason, mark }: YAMLException): TextFault | undefined {
  if (mark === undefined || !reason.startsWith('missed comma')) return undefined;
  const line = text.split('\n', mark.line + 1)[mark.line] ?? '';
  if (line.slice(mark.column - 1, mark.column + 1) !== '${') return undefined;
  return new TextFault({
    code: 'bad_yaml',
    message: 'the text is not valid YAML: inside of `{…}` and `[…]` a `${…}` needs quotes',
    hint: 'put the whole text that holds it into double quotes',
    line: mark.line + 1,
    column: mark.column,
  });
}

/** A line that begins with a tab, where the parser stumbled over it. */
function tabFault(text: string, { mark }: YAMLException): TextFault | undefined {
  const at = mark?.line ?? -1;
  const lines = text.split('\n', at + 2);
  // The parser may stop at the line before.
  const line = [at, at + 1].find((one) => /^ *\t/.test(lines[one] ?? ''));
  if (line === undefined) return undefined;
  const message = `line ${line + 1} is indented with a tab; YAML wants spaces`;
  return new TextFault({
    code: 'bad_yaml',
    message,
    line: line + 1,
    column: (lines[line] ?? '').indexOf('\t') + 1,
  });
}

function tooDeep(): string {
  return `the document is nested deeper than ${MAX_DEPTH} levels`;
}

/** Size and height of a finished node, with its aliases expanded. */
interface Extent {
  nodes: number;
  height: number;
}

interface Open extends Extent {
  readonly anchor: string | undefined;
  /** Nodes it may still take: twice the keys of a mapping. */
  room: number;
}

/** One pass before anything is built: documents, tags, and what aliases would expand to. */
function checkEvents(text: string, events: readonly Event[]): void {
  const open: Open[] = [];
  const anchors = new Map<string, Extent | 'open'>();
  let documents = 0;
  let aliased = 0;
  const close = (extent: Extent, anchor: string | undefined): void => {
    if (anchor !== undefined) anchors.set(anchor, { nodes: extent.nodes, height: extent.height });
    const above = open.at(-1);
    if (above === undefined) return;
    above.room -= 1;
    above.nodes += extent.nodes;
    above.height = Math.max(above.height, extent.height + 1);
  };
  for (const event of events) {
    if (documents > 1) throw severalDocuments(text, Math.max(0, offsetOf(event)));
    if (event.type === EVENT_ID.DOCUMENT) {
      documents += 1;
      open.push({ nodes: 0, height: 0, anchor: undefined, room: Infinity });
      continue;
    }
    if (event.type === EVENT_ID.POP) {
      const done = open.pop();
      if (done !== undefined) close(done, done.anchor);
      continue;
    }
    if (open.at(-1)?.room === 0)
      throw textFault(text, Math.max(0, offsetOf(event)), 'too_large', TOO_MANY_KEYS);
    const anchor =
      event.anchorStart === -1 ? undefined : text.slice(event.anchorStart, event.anchorEnd);
    if (event.type === EVENT_ID.ALIAS) {
      const target = anchors.get(anchor ?? '');
      if (target === 'open')
        throw textFault(
          text,
          event.anchorStart - 1,
          'alias_limit',
          'an alias is inside the node that it names',
        );
      if (target === undefined) continue;
      aliased += target.nodes;
      if (aliased > MAX_ALIASED_NODES)
        throw textFault(text, event.anchorStart - 1, 'alias_limit', tooManyNodes());
      if (open.length - 1 + target.height > MAX_DEPTH)
        throw textFault(text, event.anchorStart - 1, 'too_deep', tooDeep());
      close(target, undefined);
      continue;
    }
    if (event.tagStart !== -1) checkTag(text, event);
    if (event.type === EVENT_ID.SCALAR) {
      close({ nodes: 1, height: 0 }, anchor);
      continue;
    }
    if (anchor !== undefined) anchors.set(anchor, 'open');
    open.push({
      nodes: 1,
      height: 1,
      anchor,
      room: event.type === EVENT_ID.MAPPING ? 2 * MAX_KEYS : Infinity,
    });
    if (open.length - 1 > MAX_DEPTH) throw textFault(text, event.start, 'too_deep', tooDeep());
  }
  if (documents === 0)
    throw textFault(text, 0, 'empty_document', 'the document is empty', FIRST_DOCUMENT);
}

function severalDocuments(text: string, offset: number): TextFault {
  return textFault(
    text,
    offset,
    'several_documents',
    'the text holds several documents',
    'keep one, without `---` between',
  );
}

function offsetOf(event: Event): number {
  if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) return 0;
  if (event.type === EVENT_ID.SCALAR) return event.valueStart;
  return event.type === EVENT_ID.ALIAS ? event.anchorStart - 1 : event.start;
}

function tooManyNodes(): string {
  return `aliases expand to more than ${MAX_ALIASED_NODES} nodes`;
}

function checkTag(text: string, event: Exclude<Event, { type: 1 | 5 | 6 }>): void {
  const tag = text.slice(event.tagStart, event.tagEnd);
  if (tag !== '!include') {
    const hint = 'remove the tag; only `!include` has a meaning';
    throw textFault(
      text,
      event.tagStart,
      'yaml_tag',
      `the YAML tag \`${tag}\` is not possible here`,
      hint,
    );
  }
  if (event.type === EVENT_ID.SCALAR && getScalarValue(text, event) !== '') return;
  throw textFault(
    text,
    event.tagStart,
    'wrong_type',
    '`!include` takes the path of a file',
    'write `!include path/to/file.yaml`',
  );
}

/** The location of every node. The text must have been parsed without issues. */
export function placesOfYaml(text: string): PlaceNode | undefined {
  const builder = new PlaceBuilder(text);
  for (const event of parseEvents(text, { maxDepth: MAX_DEPTH + 1 })) builder.take(event);
  return builder.root;
}

interface Level {
  readonly node: PlaceNode;
  readonly kind: 'document' | 'list' | 'mapping';
  count: number;
  /** Mapping: the key read last, whose value comes next. */
  key: { readonly name: string; readonly offset: number } | undefined;
}

class PlaceBuilder {
  root: PlaceNode | undefined;
  readonly #text: string;
  readonly #levels: Level[] = [];
  readonly #anchors = new Map<string, PlaceNode>();

  constructor(text: string) {
    this.#text = text;
  }

  take(event: Event): void {
    if (event.type === EVENT_ID.POP) {
      this.#levels.pop();
      return;
    }
    if (event.type === EVENT_ID.DOCUMENT) {
      this.#levels.push({
        node: { offset: 0, below: new Map() },
        kind: 'document',
        count: 0,
        key: undefined,
      });
      return;
    }
    const level = this.#levels.at(-1);
    if (level === undefined) return;
    // An empty value has no location: that of the collection around it is used.
    const own = offsetOf(event);
    const offset = own === -1 ? level.node.offset : own;
    if (level.kind === 'mapping' && level.key === undefined) {
      const name = event.type === EVENT_ID.SCALAR ? getScalarValue(this.#text, event) : '';
      level.key = { name, offset: this.#startOfKey(offset) };
      return;
    }
    this.#place(event, level, offset);
  }

  #place(event: Exclude<Event, { type: 1 | 6 }>, level: Level, offset: number): void {
    const anchor =
      event.anchorStart === -1 ? undefined : this.#text.slice(event.anchorStart, event.anchorEnd);
    const shared =
      event.type === EVENT_ID.ALIAS ? this.#anchors.get(anchor ?? '')?.below : undefined;
    const node: PlaceNode = { offset: level.key?.offset ?? offset, below: shared ?? new Map() };
    if (level.kind === 'document') this.root = node;
    else level.node.below.set(level.key?.name ?? level.count, node);
    level.count += 1;
    level.key = undefined;
    if (anchor !== undefined && event.type !== EVENT_ID.ALIAS) this.#anchors.set(anchor, node);
    if (event.type === EVENT_ID.SEQUENCE)
      this.#levels.push({ node, kind: 'list', count: 0, key: undefined });
    if (event.type === EVENT_ID.MAPPING)
      this.#levels.push({ node, kind: 'mapping', count: 0, key: undefined });
  }

  /** The events point behind an opening quote; people count the quote. */
  #startOfKey(offset: number): number {
    const before = this.#text[offset - 1];
    return before === '"' || before === "'" ? offset - 1 : offset;
  }
}
