/**
 * Moves items of a list in the text of a document, and takes them out. Comments above and inside an
 * item belong to it; every other character stays.
 */
import { isMap, isNode, isScalar, isSeq, parseDocument, type Node, type YAMLSeq } from 'yaml';
import { commentsOf, valueAt, valuesOf, withStep, type Step } from './edit-yaml.ts';

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Undefined: it has to be done by hand. */
export function withMovedItem(
  text: string,
  steps: readonly Step[],
  { from, to }: { readonly from: number; readonly to: number },
): string | undefined {
  const list = listAt(text, steps);
  if (list === undefined) return undefined;
  const { source, spans } = list;
  const order = spans.map((_, index) => index);
  order.splice(to, 0, ...order.splice(from, 1));
  let changed = source.slice(0, spans[0]?.from);
  for (const [place, span] of spans.entries()) {
    const moved = spans[order[place] ?? place] ?? span;
    const next = spans[place + 1]?.from ?? source.length;
    changed += source.slice(moved.from, moved.to) + source.slice(span.to, next);
  }
  return verified(text, changed, { steps, order, lost: [] });
}

/** Undefined: it has to be done by hand. */
export function withoutItem(
  text: string,
  steps: readonly Step[],
  index: number,
): string | undefined {
  const list = listAt(text, steps);
  const span = list?.spans[index];
  if (list === undefined || span === undefined) return undefined;
  const { source, spans, isFlow, valueFrom } = list;
  const order = spans.map((_, place) => place).filter((place) => place !== index);
  const lost = commentsIn(source, span, isFlow);
  if (spans.length === 1) {
    const whole = isFlow ? span : { from: valueFrom, to: span.to };
    const rest = isFlow ? '' : ' []\n';
    const changed = source.slice(0, whole.from) + rest + source.slice(whole.to);
    return verified(text, changed, { steps, order, lost });
  }
  if (!isFlow) {
    const changed = source.slice(0, span.from) + source.slice(span.to);
    return verified(text, changed, { steps, order, lost });
  }
  const [from, to] =
    index === 0
      ? [span.from, spans[1]?.from ?? span.to]
      : [spans[index - 1]?.to ?? span.from, span.to];
  return verified(text, source.slice(0, from) + source.slice(to), { steps, order, lost });
}

interface Verified {
  readonly steps: readonly Step[];
  /** The old indexes of the items in their new order. */
  readonly order: readonly number[];
  /** Comments that go with an item. */
  readonly lost: readonly string[];
}

/** Whatever the text looks like: it must say what was asked for, and no other comment is lost. */
function verified(text: string, changed: string, { steps, order, lost }: Verified) {
  const values = valuesOf(text);
  const before = valueAt(values, steps);
  if (!Array.isArray(before)) return undefined;
  const wanted = withStep(
    values,
    steps,
    order.map((index) => (before as unknown[])[index]),
  );
  const left = [...commentsOf(changed), ...lost].sort();
  const isKept = JSON.stringify(commentsOf(text).toSorted()) === JSON.stringify(left);
  return isKept && JSON.stringify(valuesOf(changed)) === JSON.stringify(wanted)
    ? changed
    : undefined;
}

interface Listed {
  /** The text, whose last line is ended. */
  readonly source: string;
  readonly spans: readonly Span[];
  readonly isFlow: boolean;
  /** Behind the colon of the key that has the list. */
  readonly valueFrom: number;
}

function listAt(text: string, steps: readonly Step[]): Listed | undefined {
  const source = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  const document = parseDocument(source, { logLevel: 'silent' });
  const list: unknown = document.getIn(steps, true);
  const parent: unknown = document.getIn(steps.slice(0, -1), true);
  if (document.errors.length > 0 || !isSeq(list) || !isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === steps.at(-1));
  if (!isNode(pair?.key)) return undefined;
  const valueFrom = source.indexOf(':', endOf(pair.key)) + 1;
  const isFlow = list.flow === true;
  const spans = isFlow ? flowSpans(source, list) : blockSpans(source, list);
  return spans === undefined || spans.length === 0
    ? undefined
    : { source, spans, isFlow, valueFrom };
}

function flowSpans(source: string, list: YAMLSeq): readonly Span[] | undefined {
  const nodes = list.items.filter((item) => isNode(item));
  if (nodes.length !== list.items.length) return undefined;
  return nodes.map((node) => {
    const from = startOf(node);
    return { from, to: from + source.slice(from, endOf(node)).trimEnd().length };
  });
}

/** Whole lines: from the comments above the dash of an item to those above the next one. */
function blockSpans(source: string, list: YAMLSeq): readonly Span[] | undefined {
  const column = startOf(list) - lineStart(source, startOf(list));
  const dash = `${' '.repeat(column)}-`;
  const starts: number[] = [];
  for (const item of list.items) {
    if (!isNode(item)) return undefined;
    let at = lineStart(source, startOf(item));
    while (!source.startsWith(dash, at)) {
      if (at <= lineStart(source, startOf(list))) return undefined;
      at = lineStart(source, at - 1);
    }
    // Comments above it in the column of the dashes.
    for (;;) {
      const above = lineStart(source, at - 1);
      if (at === 0 || !source.startsWith(`${' '.repeat(column)}#`, above)) break;
      at = above;
    }
    starts.push(at);
  }
  const last = list.items.at(-1);
  if (!isNode(last)) return undefined;
  return starts.map((from, index) => ({
    from,
    to: starts[index + 1] ?? endOfLast(source, last, column),
  }));
}

/** Behind its last line, and behind comments that are further to the right than its dash. */
function endOfLast(source: string, last: Node, column: number): number {
  const from = startOf(last);
  const seen = from + source.slice(from, endOf(last)).trimEnd().length;
  let end = lineEnd(source, Math.max(from, seen));
  for (;;) {
    const line = source.slice(end, lineEnd(source, end));
    const indent = line.length - line.trimStart().length;
    if (!line.trimStart().startsWith('#') || indent <= column) return end;
    end += line.length;
  }
}

function commentsIn(source: string, { from, to }: Span, isFlow: boolean): readonly string[] {
  const item = source.slice(from, to);
  // Below a key, so that comments above the item are read as its own.
  return commentsOf(isFlow ? `- ${item}` : `key:\n${item}`);
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

function endOf(node: Node): number {
  return node.range?.[1] ?? 0;
}

function lineStart(source: string, at: number): number {
  return at <= 0 ? 0 : source.lastIndexOf('\n', at - 1) + 1;
}

/** Behind the line break. */
function lineEnd(source: string, at: number): number {
  const end = source.indexOf('\n', at);
  return end === -1 ? source.length : end + 1;
}
