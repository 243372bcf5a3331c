/**
 * Statements of BigQuery for the engine behind the fake. It knows what the connector sends and what
 * its tests ask for, and nothing else.
 */
import { sqlPieces } from '../../../src/connectors/_sql/sql-text.ts';
import { engineItem, engineName, engineType, isMarked, markOf, typeIn } from './types.ts';

type Node =
  | { readonly kind: 'word' | 'text' | 'name' | 'mark'; readonly value: string }
  | { readonly kind: 'group'; readonly open: string; readonly nodes: readonly Node[] };

/** The statements of a script. */
export function statementsOf(sql: string): string[] {
  const parts: string[] = [''];
  for (const { kind, text } of sqlPieces(sql, 'bigquery')) {
    if (kind === 'comment') continue;
    const [first = '', ...others] = kind === 'code' ? text.split(';') : [text];
    parts[parts.length - 1] += first;
    parts.push(...others);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

const CODE = /\s+|[A-Za-z_]\w*|@\w+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|<=|>=|!=|<>|\|\||[^\s\w]/g;

function nodesOf(sql: string): Node[] {
  const stack: { open: string; nodes: Node[] }[] = [{ open: '', nodes: [] }];
  const add = (node: Node): void => void stack.at(-1)?.nodes.push(node);
  for (const { kind, text } of sqlPieces(sql, 'bigquery')) {
    if (kind === 'comment') continue;
    if (kind === 'literal') add({ kind: 'text', value: textIn(text) });
    else if (kind === 'identifier') add({ kind: 'name', value: text.slice(1, -1) });
    else
      for (const [token] of text.matchAll(CODE)) {
        if (token.trim() === '') continue;
        if (token === '(' || token === '[') stack.push({ open: token, nodes: [] });
        else if (token === ')' || token === ']') {
          const group = stack.pop();
          if (group === undefined || stack.length === 0)
            throw new Error('Syntax error: unbalanced');
          add({ kind: 'group', open: group.open, nodes: group.nodes });
        } else add({ kind: /^[\w@]/.test(token) ? 'word' : 'mark', value: token });
      }
  }
  if (stack.length !== 1) throw new Error('Syntax error: unbalanced');
  return stack[0]?.nodes ?? [];
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function textIn(literal: string): string {
  const quotes = /^("""|'''|"|')/.exec(literal)?.[1] ?? "'";
  return literal
    .slice(quotes.length, -quotes.length)
    .replaceAll(/\\(?:x([0-9a-f]{2})|([^]))/g, (_, hex: string | undefined, char: string) =>
      hex === undefined ? (ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
    );
}

export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** `project.dataset.table` is known by the last two. */
export function tablePathOf(name: string): { readonly dataset: string; readonly table: string } {
  const parts = name.replaceAll('`', '').split('.');
  return { dataset: parts.at(-2) ?? '', table: parts.at(-1) ?? '' };
}

export function translate(sql: string): string {
  return emit(nodesOf(sql));
}

const WORDS: Readonly<Record<string, string>> = {
  INT64: 'BIGINT',
  FLOAT64: 'DOUBLE',
  DATETIME: 'TIMESTAMP',
  TIMESTAMP: 'TIMESTAMPTZ',
};

function emit(nodes: readonly Node[]): string {
  const out: string[] = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at] as Node;
    const next = nodes[at + 1];
    if (node.kind === 'word' && next?.kind === 'group' && next.open === '(') {
      const call = functionOf(node.value.toUpperCase(), next.nodes);
      if (call !== undefined) {
        out.push(call);
        at += 1;
        continue;
      }
    }
    if (node.kind === 'word' && node.value.toUpperCase() === 'UNNEST' && next?.kind === 'group') {
      const { text, used } = unnested(next.nodes, nodes.slice(at + 2));
      out.push(text);
      at += 1 + used;
      continue;
    }
    out.push(plain(node));
  }
  return out.join(' ').replaceAll(' . ', '.');
}

function plain(node: Node): string {
  switch (node.kind) {
    case 'text':
      return quotedText(node.value);
    case 'name':
      return node.value.split('.').slice(-2).map(engineName).join('.');
    case 'group':
      return node.open === '(' ? `(${emit(node.nodes)})` : `[${emit(node.nodes)}]`;
    case 'word':
      if (node.value.startsWith('@')) return `$${node.value.slice(1)}`;
      return WORDS[node.value.toUpperCase()] ?? node.value;
    default:
      return node.value;
  }
}

/** `UNNEST(x) AS r WITH OFFSET AS o`. */
function unnested(
  inner: readonly Node[],
  after: readonly Node[],
): { readonly text: string; readonly used: number } {
  const words = after.map((node) => (node.kind === 'word' ? node.value : ''));
  const [as = '', name = 'value'] = words;
  if (as.toUpperCase() !== 'AS') return { text: `UNNEST(${emit(inner)})`, used: 0 };
  const hasOffset = words[2]?.toUpperCase() === 'WITH' && words[3]?.toUpperCase() === 'OFFSET';
  const offset = hasOffset ? (words[5] ?? 'offset') : undefined;
  const columns = offset === undefined ? name : `${name}, ${offset}`;
  return {
    text: `UNNEST(${emit(inner)})${offset === undefined ? '' : ' WITH ORDINALITY'} AS u_${name}(${columns})`,
    used: hasOffset ? 6 : 2,
  };
}

function argumentsOf(nodes: readonly Node[]): Node[][] {
  const parts: Node[][] = [[]];
  for (const node of nodes)
    if (node.kind === 'mark' && node.value === ',') parts.push([]);
    else parts.at(-1)?.push(node);
  return parts;
}

function functionOf(name: string, nodes: readonly Node[]): string | undefined {
  const args = argumentsOf(nodes);
  const [one = '', two, three] = args.map(emit);
  switch (name) {
    case 'CAST':
      return cast(nodes);
    case 'JSON_VALUE':
      return `json_extract_string(${one}, ${two})`;
    case 'JSON_QUERY_ARRAY':
      return `CAST(json_extract(${one}, ${two ?? "'$'"} || '[*]') AS JSON[])`;
    case 'PARSE_JSON':
      return `CAST(${one} AS JSON)`;
    case 'ST_GEOGFROMTEXT':
      return marked(one, 'bq GEOGRAPHY');
    case 'IF':
      return `CASE WHEN ${one} THEN ${two} ELSE ${three} END`;
    case 'STRUCT':
      return `struct_pack(${args.map(member).join(', ')})`;
    case 'CURRENT_TIMESTAMP':
      return 'now()';
    case 'GENERATE_ARRAY':
      return `generate_series(${one}, ${two})`;
    default:
      return undefined;
  }
}

function member(nodes: readonly Node[]): string {
  const name = nodes.at(-1);
  if (name === undefined || (name.kind !== 'name' && name.kind !== 'word'))
    throw new Error('the fake needs a name for each member of a struct');
  return `${engineName(name.value)} := ${emit(nodes.slice(0, -2))}`;
}

function marked(value: string, mark: string): string {
  return `CASE WHEN ${value} IS NULL THEN NULL ELSE struct_pack(${engineName(mark)} := ${value}) END`;
}

function cast(nodes: readonly Node[]): string {
  const at = nodes.findLastIndex(
    (node) => node.kind === 'word' && node.value.toUpperCase() === 'AS',
  );
  const value = emit(nodes.slice(0, at));
  const field = typeIn(typeText(nodes.slice(at + 1)));
  if (field.mode !== 'REPEATED' && isMarked(field)) return marked(value, markOf(field));
  // The engine rounds texts of fractions.
  if (engineType(field) === 'BIGINT') return `svc_int64(CAST(${value} AS VARCHAR))`;
  return `CAST(${value} AS ${field.mode === 'REPEATED' ? engineType(field) : engineItem(field)})`;
}

function typeText(nodes: readonly Node[]): string {
  return nodes
    .map((node) =>
      node.kind === 'group'
        ? `(${typeText(node.nodes)})`
        : node.kind === 'name'
          ? `\`${node.value}\``
          : `${node.value} `,
    )
    .join('')
    .replaceAll(/ (?=[<>(),])/g, '')
    .replaceAll('< ', '<')
    .trim();
}
