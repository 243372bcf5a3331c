/** Reports the run-time tokens that stand where they are not allowed. */
import type { BlockDefinition } from '../blocks/define-block.ts';
import { allTokens, type AnyToken, type FoundToken } from '../document/tokens/find-tokens.ts';
import type { CredentialDefinition } from '../kit/credential.ts';
import type { Registry } from '../kit/parts.ts';
import type { Steps } from '../document/parse/steps.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { definitionsWith } from './definitions-with.ts';
import type { IssueList } from './issue-list.ts';

/** Tokens that others fill in before a run; here they are left over. */
const LEFTOVERS: Readonly<Record<string, string>> = {
  param: 'parameters are bound when a document is loaded; this one never was',
  trigger: 'it is filled in only where a trigger starts the run',
};

export interface Judging {
  /** Blocks of the build: some fill in tokens of their own. */
  readonly definitions: readonly BlockDefinition[];
  readonly issues: IssueList;
}

/** Reports a token that nothing will fill in; returns whether it did. */
export function reportLeftover(
  found: AnyToken,
  path: string,
  { definitions, issues }: Judging,
): boolean {
  const root = found.token.kind === 'path' ? found.token.root : '';
  const hint =
    definitionsWith(definitions, 'tokens').find(({ tokens }) => tokens.root === root)?.tokens
      .hint ?? (Object.hasOwn(LEFTOVERS, root) ? LEFTOVERS[root] : undefined);
  if (hint === undefined) return false;
  issues.error('token_out_of_scope', path, `nothing fills in \`\${${found.body}}\` here`, hint);
  return true;
}

type Scope = 'none' | 'now';

export interface ScopeJudging extends Judging {
  /** Logins of the build: some take names of their own. */
  readonly credentials: Pick<Registry<CredentialDefinition>, 'get'>;
}

/** Settings of transforms in which `${name}` is a group of a pattern. */
const GROUP_KEYS: Readonly<Record<string, string>> = { rename_keys: 'replacement' };

/** Whether what looks like a token of a transform's config is the transform's own syntax. */
export function isGroup(
  { steps, body }: Pick<FoundToken, 'steps' | 'body'>,
  type: string,
): boolean {
  return Object.hasOwn(GROUP_KEYS, type) && GROUP_KEYS[type] === steps[0] && /^\w+$/.test(body);
}

/**
 * Run-time tokens outside source and sink configs: an error, but for `${now.*}` in the values of
 * `set`.
 */
export function checkTokenScopes(tree: JsonObject, judging: ScopeJudging): void {
  const { vars: _vars, params: _params, pipeline, matrix, auth, ...rest } = tree;
  refuse(withoutOwnTokens(rest, judging), [], 'none', judging);
  if (isObject(auth ?? null)) checkLogins(auth as JsonObject, judging);
  if (isObject(pipeline)) checkParts(pipeline, ['pipeline'], judging);
  if (!Array.isArray(matrix)) return;
  for (const [index, row] of matrix.entries())
    if (isObject(row)) checkParts(row, ['matrix', index], judging);
}

/** Keys whose tokens are those of no other place; their blocks judge them. */
function withoutOwnTokens(tree: JsonObject, { definitions }: Judging): JsonObject {
  const judged = definitionsWith(definitions, 'judgesTokensOf').flatMap(
    ({ name, judgesTokensOf }) => {
      const block = tree[name];
      if (!isObject(block)) return [];
      return [
        [name, { ...block, ...Object.fromEntries(judgesTokensOf.map((key) => [key, null])) }],
      ];
    },
  );
  return judged.length === 0 ? tree : { ...tree, ...Object.fromEntries(judged) };
}

/** A plain name in a login that captures values is one of those, which its schema checks. */
function checkLogins(auth: JsonObject, judging: ScopeJudging): void {
  for (const [name, login] of Object.entries(auth)) {
    const type = isObject(login) ? login['type'] : undefined;
    const definition = typeof type === 'string' ? judging.credentials.get(type) : undefined;
    const tokens = allTokens(login, ['auth', name]).filter(
      ({ body }) => definition?.namesValues !== true || !/^\w+$/.test(body),
    );
    refuseTokens(tokens, 'none', judging);
  }
}

function checkParts(block: JsonObject, steps: Steps, judging: Judging): void {
  for (const [key, value] of Object.entries(block)) {
    const here = [...steps, key];
    if ((key === 'source' || key === 'sink') && isObject(value))
      checkConnector(value, here, judging);
    else if ((key === 'sources' || key === 'sinks' || key === 'nodes') && isObject(value)) {
      for (const [name, one] of Object.entries(value))
        if (isObject(one)) checkConnector(one, [...here, name], judging);
    } else if ((key === 'fan_out' || key === 'discover') && isObject(value))
      checkParts(value, here, judging);
    else if (key === 'transforms') checkTransforms(value, here, judging);
    else refuse(value, here, 'none', judging);
  }
}

function checkConnector(spec: JsonObject, steps: Steps, judging: Judging): void {
  for (const [key, value] of Object.entries(spec)) {
    if (key === 'config') continue;
    if (key === 'transforms') checkTransforms(value, [...steps, key], judging);
    // Tokens of such a block are judged where the row is known.
    else if (
      !judging.definitions.some((block) => block.name === key && block.tokensIn !== undefined)
    )
      refuse(value, [...steps, key], 'none', judging);
  }
}

function checkTransforms(list: JsonValue, steps: Steps, judging: Judging): void {
  if (!Array.isArray(list)) return;
  for (const [index, entry] of list.entries()) {
    const here = [...steps, index];
    if (!isObject(entry) || !isObject(entry['config'])) {
      refuse(entry, here, 'none', judging);
      continue;
    }
    const { type, config } = entry;
    refuse({ ...entry, config: {} }, here, 'none', judging);
    for (const found of allTokens(config, [])) {
      if (typeof type === 'string' && isGroup(found, type)) continue;
      const scope = type === 'set' && found.steps[0] === 'values' ? 'now' : 'none';
      refuseTokens([{ ...found, steps: [...here, 'config', ...found.steps] }], scope, judging);
    }
  }
}

function refuse(value: JsonValue, steps: Steps, scope: Scope, judging: Judging): void {
  refuseTokens(allTokens(value, steps), scope, judging);
}

function refuseTokens(tokens: readonly AnyToken[], scope: Scope, judging: Judging): void {
  for (const found of tokens) {
    if (found.token.kind === 'directive' || (found.token.kind === 'now' && scope === 'now'))
      continue;
    const path = joinPath('', ...found.steps);
    if (reportLeftover(found, path, judging)) continue;
    const message = `\`\${${found.body}}\` is filled in at run time, which does not happen here`;
    judging.issues.error(
      'token_out_of_scope',
      path,
      message,
      'run-time tokens are allowed in the `config` of sources and sinks; `$${` writes a literal',
    );
  }
}
