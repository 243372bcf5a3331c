/** Where the tokens of source and sink configs get their values from. */
import { joinPath } from '../../lib/text/text-path.ts';
import type { BlockDefinition, GrantedTokens } from '../../blocks/define-block.ts';
import { findConnectorTokens, type FoundToken } from '../../document/tokens/find-tokens.ts';
import type { ValueList } from '../for-each.ts';
import type { IssueList } from '../issue-list.ts';
import type { ParentLink } from '../plan.ts';
import type { AssembledRow } from '../assembled-row.ts';
import { placeInConfig, type ResolvedPart } from '../resolve-part.ts';
import { definitionsWith } from '../definitions-with.ts';
import { reportLeftover } from '../run-time-tokens.ts';

/** What the tokens of one row may name. */
export interface TokenScope {
  /** How messages call the row. */
  readonly owner: string;
  /** Row whose records it runs for. */
  readonly parent: string | undefined;
  /** Fan-out rows whose values it runs for. */
  readonly forEach: readonly string[];
  /** Tokens that blocks fill in for it, by their root. */
  readonly granted: ReadonlyMap<string, GrantedTokens>;
  readonly definitions: readonly BlockDefinition[];
  readonly ids: readonly string[];
  readonly lists: ReadonlyMap<string, ValueList>;
}

interface TokenUser {
  readonly resolved: ResolvedPart | undefined;
  readonly tokens: readonly FoundToken[];
  /** Those that the connector fills in itself. */
  readonly own: readonly string[] | undefined;
}

export function checkTokens(
  { resolved, tokens, own }: TokenUser,
  scope: TokenScope,
  issues: IssueList,
): void {
  if (resolved === undefined) return;
  for (const found of tokens)
    checkToken(found, placeInConfig(resolved, joinPath('', ...found.steps)), scope, issues);
  checkOwnTokens(resolved, own ?? [], issues);
}

/** Tokens below a path of the document. */
export function checkTokensAt(
  tokens: readonly FoundToken[],
  place: string,
  scope: TokenScope,
  issues: IssueList,
): void {
  for (const found of tokens) checkToken(found, joinPath(place, ...found.steps), scope, issues);
}

/** Only the connector itself fills these in. */
function checkOwnTokens(resolved: ResolvedPart, own: readonly string[], issues: IssueList): void {
  for (const { steps, body, name } of findConnectorTokens(resolved.config)) {
    if (own.includes(name)) continue;
    const message = `\`${resolved.type}\` fills in no \`\${${name}}\`: \`\${${body}}\` would stay as it is`;
    issues.error(
      'token_out_of_scope',
      placeInConfig(resolved, joinPath('', ...steps)),
      message,
      '`$${` writes a literal `${`',
    );
  }
}

function checkToken(found: FoundToken, path: string, scope: TokenScope, issues: IssueList): void {
  if (found.token.kind !== 'path') return;
  const { root } = found.token;
  if (isOfFaultyBlock(root, scope, issues)) return;
  const granted = scope.granted.get(root);
  if (granted !== undefined) {
    const name = found.token.path;
    if (granted.names.includes(name)) return;
    const message = granted.unknown(found.body);
    issues.error('unknown_token', path, message, issues.hintFor(name, granted.names));
    return;
  }
  if (reportLeftover(found, path, { definitions: scope.definitions, issues })) return;
  const list = scope.lists.get(root);
  if (list?.isFaulty === true) return;
  if (list !== undefined)
    checkListToken(
      { body: found.body, root, path: found.token.path },
      list,
      { ...scope, place: path },
      issues,
    );
  else if (!scope.ids.includes(root)) {
    const hint = issues.hintFor(root, scope.ids, 'rows are') ?? '`$${` writes a literal `${`';
    issues.error(
      'unknown_row',
      path,
      `\`\${${found.body}}\` names no row and is not another token`,
      hint,
    );
  } else if (root !== scope.parent) {
    const message = `${scope.owner} has no record of row \`${root}\` to fill in \`\${${found.body}}\``;
    issues.error('token_out_of_scope', path, message, `give the row \`parent: ${root}\``);
  }
}

/** What the tokens of a block would be is not known when something is wrong with it. */
function isOfFaultyBlock(
  root: string,
  { definitions }: Pick<TokenScope, 'definitions'>,
  { errors }: IssueList,
): boolean {
  const block = definitionsWith(definitions, 'tokens').find(({ tokens }) => tokens.root === root);
  if (block?.tokens.namedByBlock !== true) return false;
  const places = new RegExp(`^(?:matrix\\[\\d+\\]\\.)?${block.name}(?:[.[]|$)`);
  return errors.some(({ path }) => places.test(path));
}

interface ListToken {
  readonly body: string;
  readonly root: string;
  readonly path: string;
}

/** A value of the row's own tuple, or the list that was collected for it. */
function checkListToken(
  { body, root, path }: ListToken,
  list: ValueList,
  { owner, forEach, place }: TokenScope & { readonly place: string },
  issues: IssueList,
): void {
  const [name] = path.split('.');
  const exact = !list.collect || path === list.alias;
  if (name !== list.alias || !exact) {
    const message = `the fan-out row \`${root}\` gives \`${list.alias}\`, so \`\${${body}}\` has no value`;
    issues.error('unknown_token', place, message, `write \`\${${root}.${list.alias}}\``);
    return;
  }
  const missing = list.collect
    ? list.forEach.filter((id) => !forEach.includes(id))
    : [root].filter((id) => !forEach.includes(id));
  if (missing.length === 0) return;
  const message = list.collect
    ? `\`\${${body}}\` has one list for each value of \`${list.forEach.join('`, `')}\`, and ${owner} does not run for those`
    : `${owner} does not run for the values of \`${root}\`, so \`\${${body}}\` has no value`;
  issues.error(
    'token_out_of_scope',
    place,
    message,
    `give the row \`for_each: [${[...forEach, ...missing].join(', ')}]\``,
  );
}

/** Collected lists that the configs of a row name. */
export function collectedOf(
  parts: readonly { readonly tokens: readonly FoundToken[] }[],
  lists: ReadonlyMap<string, ValueList>,
): readonly string[] {
  const roots = parts.flatMap(({ tokens }) =>
    tokens.flatMap(({ token }) => (token.kind === 'path' ? [token.root] : [])),
  );
  return [...new Set(roots)].filter((root) => lists.get(root)?.collect === true);
}

/** What a child needs of its parent's records. */
export function parentLinkOf(
  row: AssembledRow,
  more: readonly FoundToken[] = [],
): ParentLink | undefined {
  const { parent } = row.resolved;
  if (parent === undefined) return undefined;
  const paths = [...row.source.tokens, ...row.sink.tokens, ...more].flatMap(({ token }) =>
    token.kind === 'path' && token.root === parent.row ? [token.path] : [],
  );
  const all = [...paths, parent.key];
  if (all.includes('')) return { ...parent, fields: 'record' };
  return { ...parent, fields: [...new Set(all.map((path) => path.split('.')[0] ?? path))] };
}
