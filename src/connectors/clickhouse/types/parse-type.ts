/** The names of types as the server writes them: `Array(Nullable(Decimal(10, 2)))`. */

export interface ClickhouseType {
  /** Without what stands in parentheses: `Decimal`. */
  readonly name: string;
  /** As the server wrote it. */
  readonly text: string;
  /** What stands in parentheses, as types; meaningless where they are no types. */
  readonly args: readonly ClickhouseType[];
  /** Names of the fields of a tuple, where it has them. */
  readonly names: readonly string[];
}

const NAMED = /^(`(?:[^`\\]|\\.|``)+`|[A-Za-z_]\w*)\s+(\S[^]*)$/;

export function parseType(written: string): ClickhouseType {
  const text = written.trim();
  const open = text.indexOf('(');
  if (open === -1 || !text.endsWith(')')) return { name: text, text, args: [], names: [] };
  const name = text.slice(0, open).trim();
  const args: ClickhouseType[] = [];
  const names: string[] = [];
  for (const part of argumentsIn(text.slice(open + 1, -1))) {
    const [match, field = '', type = ''] =
      name === 'Tuple' || name === 'Nested' ? (NAMED.exec(part) ?? []) : [];
    if (match !== undefined) names.push(unquoted(field));
    args.push(parseType(match === undefined ? part : type));
  }
  return { name, text, args, names };
}

/** Parts between the commas that stand in no quotes and no further parentheses. */
function argumentsIn(text: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string;
    if (char === "'" || char === '`') at = quoteEnd(text, at);
    else if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    else if (char === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === '' ? parts : [...parts, last];
}

function quoteEnd(text: string, from: number): number {
  const mark = text[from];
  let at = from + 1;
  while (at < text.length && text[at] !== mark) at += text[at] === '\\' ? 2 : 1;
  return at;
}

function unquoted(name: string): string {
  return name.startsWith('`')
    ? name.slice(1, -1).replaceAll('``', '`').replaceAll(/\\(.)/g, '$1')
    : name;
}

const WRAPPERS: ReadonlySet<string> = new Set(['LowCardinality', 'Nullable']);

export interface BareType {
  readonly type: ClickhouseType;
  readonly isNullable: boolean;
}

/** The type inside of `Nullable`, `LowCardinality` and `SimpleAggregateFunction`. */
export function bareType(type: ClickhouseType): BareType {
  const { name, args } = type;
  const inner = name === 'SimpleAggregateFunction' ? args[1] : args[0];
  if (inner === undefined || (!WRAPPERS.has(name) && name !== 'SimpleAggregateFunction'))
    return { type, isNullable: HOLD_NULLS.has(name) };
  const bare = bareType(inner);
  return { type: bare.type, isNullable: name === 'Nullable' || bare.isNullable };
}

/** Types that hold null without saying so. */
const HOLD_NULLS: ReadonlySet<string> = new Set(['Dynamic', 'Nothing', 'Variant']);
