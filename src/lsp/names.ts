/** What the words of a document refer to: presets, logins, rows, nodes, variables, parameters. */
import { isMap, isSeq } from 'yaml';
import type { Steps } from '../document/parse/steps.ts';
import { keysAt, nodeAt, textAt, type Tree } from './document-tree.ts';

/** A list of names in a document: the keys of a map, or the `id` of rows. */
export type Names = { readonly kind: 'keys'; readonly of: Steps } | { readonly kind: 'rows' };

/** Which names may stand at this place; `undefined` where it names nothing. */
export function namesFor(tree: Tree, path: Steps): Names | undefined {
  const [last, owner] = [path.at(-1), path.at(-2)];
  if (path[0] === 'matrix' && path.length === 3 && last === 'parent') return { kind: 'rows' };
  if (path[0] === 'matrix' && (owner === 'depends_on' || owner === 'for_each'))
    return { kind: 'rows' };
  if (path[1] === 'edges' && (last === 'from' || last === 'to'))
    return { kind: 'keys', of: ['pipeline', 'nodes'] };
  if (last !== 'ref') return undefined;
  if (owner === 'auth') return { kind: 'keys', of: ['auth'] };
  const role = owner === 'source' || owner === 'sink' ? owner : kindOfNode(tree, path);
  return role === undefined ? undefined : { kind: 'keys', of: ['pipeline', `${role}s`] };
}

function kindOfNode(tree: Tree, path: Steps): 'source' | 'sink' | undefined {
  const kind = textAt(tree, [...path.slice(0, -1), 'kind']);
  return kind === 'source' || kind === 'sink' ? kind : undefined;
}

const TOKENS: Readonly<Record<string, Steps>> = { vars: ['vars'], param: ['params'] };

/** The names that a token refers to whose beginning, such as `${vars.`, ends the text. */
export function openToken(
  text: string,
): { readonly names: Names; readonly typed: string } | undefined {
  const [, root = '', typed = ''] = /\$\{(vars|param)\.(\w*)$/.exec(text) ?? [];
  const path = TOKENS[root];
  return path === undefined ? undefined : { names: { kind: 'keys', of: path }, typed };
}

/** The token at this place of a value. */
export function tokenAt(
  text: string,
  at: number,
): { readonly names: Names; readonly name: string } | undefined {
  for (const match of text.matchAll(/\$\{(vars|param)\.(\w+)\}/g)) {
    const [whole, root = '', name = ''] = match;
    const path = TOKENS[root];
    if (path !== undefined && match.index <= at && at <= match.index + whole.length)
      return { names: { kind: 'keys', of: path }, name };
  }
  return undefined;
}

/** Each name with the path of what it means. */
export function declared(tree: Tree, names: Names): ReadonlyMap<string, Steps> {
  if (names.kind === 'keys')
    return new Map(keysAt(tree, names.of).map((key): [string, Steps] => [key, [...names.of, key]]));
  const matrix = nodeAt(tree, ['matrix']);
  const rows = isSeq(matrix) ? matrix.items : [];
  return new Map(
    rows.flatMap((row, index): [string, Steps][] => {
      if (!isMap(row)) return [];
      const id = textAt(tree, ['matrix', index, 'id']);
      return [[id ?? `row-${index}`, ['matrix', index, ...(id === undefined ? [] : ['id'])]]];
    }),
  );
}
