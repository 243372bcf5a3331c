/**
 * Where in a document the cursor stands, told by indentation and, within a line, by brackets. It has
 * to work in text that is being typed, which no parser reads.
 */

/** A map or a list on the way to the cursor. */
export interface Level {
  /** Members of the map that are plain values, such as its `type`. */
  readonly scalars: ReadonlyMap<string, string>;
  /** Every key of the map. */
  readonly keys: ReadonlySet<string>;
  /** What leads to the next level: a key, or `undefined` for an entry of a list. */
  readonly leads: { readonly key: string } | 'item' | undefined;
}

export interface Place {
  readonly levels: readonly Level[];
  /** The key whose value is being typed; absent: a key is. */
  readonly valueKey?: string;
}

interface Entry {
  readonly column: number;
  /** Absent: the dash of a list. */
  readonly key?: string;
  readonly value?: string;
}

const LINE =
  /^(\s*)((?:-\s+|-$)*)(?:("[^"]*"|'[^']*'|[^\s#:{}[\],"'-][^:#{}[\]]*?)\s*:(?:\s+(.*))?$)?/;

function entriesOf(line: string): Entry[] {
  const [, indent = '', dashes = '', key, value = ''] = LINE.exec(line) ?? [];
  const entries: Entry[] = [...dashes.matchAll(/-/g)].map(({ index }) => ({
    column: indent.length + index,
  }));
  if (key !== undefined)
    entries.push({
      column: indent.length + dashes.length,
      key: unquoted(key),
      value: value.trim(),
    });
  return entries;
}

function unquoted(text: string): string {
  return text.replace(/^(["'])(.*)\1$/, '$2');
}

export function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  const line = before.length - 1;
  const typed = before[line] ?? '';
  const lines = text.split('\n');
  const [, indent = '', dashes = '', key, value] = LINE.exec(typed) ?? [];
  const column = indent.length + dashes.length;
  const outer = levelsAbove(lines, line, column);
  if (key === undefined || value === undefined) {
    const open = key === undefined ? flowOf(typed.slice(column)) : undefined;
    if (open !== undefined) return { ...open, levels: [...outer, ...open.levels] };
    return key === undefined ? { levels: outer } : { levels: outer, valueKey: unquoted(key) };
  }
  const flow = flowOf(value);
  if (flow === undefined) return { levels: outer, valueKey: unquoted(key) };
  const last = outer.at(-1);
  const way =
    last === undefined ? [] : [...outer.slice(0, -1), { ...last, leads: { key: unquoted(key) } }];
  return { ...flow, levels: [...way, ...flow.levels] };
}

/** From the outermost to the one in which a key at this column stands. */
function levelsAbove(lines: readonly string[], line: number, column: number): Level[] {
  const levels: Level[] = [];
  let want = column;
  let leads: Level['leads'];
  let isItem = false;
  let members = membersBelow(lines, line, want);
  const close = (): void => {
    levels.unshift({ ...members, leads });
  };
  for (let at = line; at >= 0; at -= 1) {
    const text = lines[at] ?? '';
    if (text.trim() === '' || text.trimStart().startsWith('#')) continue;
    for (const entry of entriesOf(text).toReversed()) {
      if (at === line && entry.key !== undefined && entry.column === column) continue;
      const isParent =
        entry.column < want || (isItem && entry.key !== undefined && entry.column === want);
      if (!isParent) {
        if (entry.column === want && !isItem && entry.key !== undefined)
          members = withMember(members, entry);
        continue;
      }
      close();
      want = entry.column;
      isItem = entry.key === undefined;
      leads = entry.key === undefined ? 'item' : { key: entry.key };
      members = isItem ? NONE : withMember(membersBelow(lines, at, want), entry);
    }
  }
  close();
  return levels;
}

interface Members {
  readonly scalars: ReadonlyMap<string, string>;
  readonly keys: ReadonlySet<string>;
}

const NONE: Members = { scalars: new Map(), keys: new Set() };

function withMember({ scalars, keys }: Members, { key = '', value = '' }: Entry): Members {
  return {
    keys: new Set([...keys, key]),
    scalars: /^[[{&*|>]|^$/.test(value) ? scalars : new Map([...scalars, [key, unquoted(value)]]),
  };
}

/** Members of a map that come after this line. */
function membersBelow(lines: readonly string[], line: number, column: number): Members {
  let members = NONE;
  for (const text of lines.slice(line + 1)) {
    if (text.trim() === '' || text.trimStart().startsWith('#')) continue;
    const [first, ...rest] = entriesOf(text);
    const indent = text.length - text.trimStart().length;
    if (indent < column || (indent === column && first?.key === undefined)) break;
    for (const entry of [first, ...rest])
      if (entry?.key !== undefined && entry.column === column) members = withMember(members, entry);
  }
  return members;
}

/** Brackets that are still open at the end of the text; undefined where there are none. */
function flowOf(text: string): Place | undefined {
  interface Open {
    isList: boolean;
    scalars: Map<string, string>;
    keys: Set<string>;
    key: string | undefined;
  }
  const stack: Open[] = [];
  let word = '';
  for (const token of text.match(/"[^"]*"?|'[^']*'?|[{}[\],:]|[^"'{}[\],:]+/g) ?? []) {
    const top = stack.at(-1);
    if (token === '{' || token === '[') {
      stack.push({ isList: token === '[', scalars: new Map(), keys: new Set(), key: undefined });
    } else if (token === '}' || token === ']') stack.pop();
    else if (token === ':' && top !== undefined && !top.isList) {
      top.key = unquoted(word.trim());
      top.keys.add(top.key);
    } else if (token === ',' && top !== undefined) {
      if (top.key !== undefined && word.trim() !== '')
        top.scalars.set(top.key, unquoted(word.trim()));
      top.key = undefined;
    } else {
      word = token;
      continue;
    }
    word = '';
  }
  const last = stack.at(-1);
  if (last === undefined) return undefined;
  const levels = stack.map(({ isList, scalars, keys, key }, index): Level => {
    const leads =
      index === stack.length - 1 ? undefined : isList ? ('item' as const) : { key: key ?? '' };
    return { scalars, keys, leads };
  });
  return last.key === undefined ? { levels } : { levels, valueKey: last.key };
}
