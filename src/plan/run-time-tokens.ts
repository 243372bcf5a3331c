/** Finds the run-time tokens of a value, and reports those where they are not allowed. */
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import type { Steps } from '../document/parse/steps.ts';
import { classify, rewriteTokens, type Token } from '../document/tokens/tokens.ts';
import type { IssueList } from './issue-list.ts';

/**
 * A directive is the token of a secrets manager that is not to be asked: such a document is only
 * looked at.
 */
export type RunTimeToken = Exclude<Token, { kind: 'connector' }>;

export interface FoundToken {
  readonly steps: Steps;
  readonly body: string;
  readonly token: RunTimeToken;
}

/** One that a connector fills in itself. */
export interface ConnectorToken {
  readonly steps: Steps;
  readonly body: string;
  readonly name: string;
}

/**
 * Every `${now.*}`, `${row.path}` and kept secret in the texts and keys of a value, with its place.
 */
export function findTokens(value: JsonValue): FoundToken[] {
  return allTokens(value, []).flatMap(({ steps, body, token }) =>
    token.kind === 'connector' ? [] : [{ steps, body, token }],
  );
}

/** Every `${bookmark}`, `${job_id}` and `${window.*}`. */
export function findConnectorTokens(value: JsonValue): ConnectorToken[] {
  return allTokens(value, []).flatMap(({ steps, body, token }) =>
    token.kind === 'connector' ? [{ steps, body, name: body.split(/[.:]/)[0] ?? body }] : [],
  );
}

interface AnyToken {
  readonly steps: Steps;
  readonly body: string;
  readonly token: Token;
}

function allTokens(value: JsonValue, steps: Steps): AnyToken[] {
  return mayHoldToken(value) ? tokensBelow(value, steps) : [];
}

/** Most values hold none: for them no list of places is made. */
function mayHoldToken(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.includes('${');
  if (Array.isArray(value)) return value.some(mayHoldToken);
  return (
    isObject(value) &&
    Object.keys(value).some((key) => key.includes('${') || mayHoldToken(value[key]))
  );
}

function tokensBelow(value: JsonValue, steps: Steps): AnyToken[] {
  if (typeof value === 'string') return tokensOf(value, steps);
  if (Array.isArray(value))
    return value.flatMap((item, index) => tokensBelow(item, [...steps, index]));
  if (!isObject(value)) return [];
  const found: AnyToken[] = [];
  for (const [key, item] of Object.entries(value)) {
    const isPlain = typeof item !== 'string' && typeof item !== 'object';
    if (isPlain && !key.includes('${')) continue;
    const below = [...steps, key];
    found.push(...tokensOf(key, below), ...tokensBelow(item, below));
  }
  return found;
}

function tokensOf(text: string, steps: Steps): AnyToken[] {
  if (!text.includes('${')) return [];
  const found: AnyToken[] = [];
  const replace = (body: string): string => {
    found.push({ steps, body, token: classify(body) });
    return '';
  };
  rewriteTokens(text, { replace, tooDeep: () => undefined });
  return found;
}

/** Tokens that others fill in before a run; here they are left over. */
const LEFTOVERS: Readonly<Record<string, readonly [code: string, hint: string]>> = {
  backfill: [
    'token_out_of_scope',
    'it is filled in by `headgate backfill` and `POST /v1/backfill`, in sources and sinks',
  ],
  partition: [
    'token_out_of_scope',
    'it is filled in only in the source and sink of a row that `partition` cuts into chunks',
  ],
  param: [
    'token_out_of_scope',
    'parameters are bound when a document is loaded; this one never was',
  ],
  trigger: ['token_out_of_scope', 'it is filled in only where a trigger starts the run'],
};

/** Reports a token that nothing will fill in; returns whether it did. */
export function reportLeftover(found: AnyToken, path: string, issues: IssueList): boolean {
  const root = found.token.kind === 'path' ? found.token.root : '';
  const leftover = Object.hasOwn(LEFTOVERS, root) ? LEFTOVERS[root] : undefined;
  if (leftover === undefined) return false;
  const [code, hint] = leftover;
  issues.error(code, path, `nothing fills in \`\${${found.body}}\` here`, hint);
  return true;
}

type Scope = 'none' | 'now';

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
export function checkTokenScopes(tree: JsonObject, issues: IssueList): void {
  const { vars: _vars, params: _params, pipeline, matrix, lineage = null, ...rest } = tree;
  // The tokens of its job name are those of no other place, and judged with it.
  refuse(
    { ...rest, lineage: isObject(lineage) ? { ...lineage, job_name: null } : lineage },
    [],
    'none',
    issues,
  );
  if (isObject(pipeline)) checkParts(pipeline, ['pipeline'], issues);
  if (!Array.isArray(matrix)) return;
  for (const [index, row] of matrix.entries())
    if (isObject(row)) checkParts(row, ['matrix', index], issues);
}

function checkParts(block: JsonObject, steps: Steps, issues: IssueList): void {
  for (const [key, value] of Object.entries(block)) {
    const here = [...steps, key];
    if ((key === 'source' || key === 'sink') && isObject(value))
      checkConnector(value, here, issues);
    else if ((key === 'sources' || key === 'sinks' || key === 'nodes') && isObject(value)) {
      for (const [name, one] of Object.entries(value))
        if (isObject(one)) checkConnector(one, [...here, name], issues);
    } else if ((key === 'fan_out' || key === 'discover') && isObject(value))
      checkParts(value, here, issues);
    else if (key === 'transforms') checkTransforms(value, here, issues);
    else refuse(value, here, 'none', issues);
  }
}

function checkConnector(spec: JsonObject, steps: Steps, issues: IssueList): void {
  for (const [key, value] of Object.entries(spec)) {
    if (key === 'config') continue;
    if (key === 'transforms') checkTransforms(value, [...steps, key], issues);
    // Its scope may hold tokens; they are judged where the row is known.
    else if (key !== 'complete_for') refuse(value, [...steps, key], 'none', issues);
  }
}

function checkTransforms(list: JsonValue, steps: Steps, issues: IssueList): void {
  if (!Array.isArray(list)) return;
  for (const [index, entry] of list.entries()) {
    const here = [...steps, index];
    if (!isObject(entry) || !isObject(entry['config'])) {
      refuse(entry, here, 'none', issues);
      continue;
    }
    const { type, config } = entry;
    refuse({ ...entry, config: {} }, here, 'none', issues);
    for (const found of allTokens(config, [])) {
      if (typeof type === 'string' && isGroup(found, type)) continue;
      const scope = type === 'set' && found.steps[0] === 'values' ? 'now' : 'none';
      refuseTokens([{ ...found, steps: [...here, 'config', ...found.steps] }], scope, issues);
    }
  }
}

function refuse(value: JsonValue, steps: Steps, scope: Scope, issues: IssueList): void {
  refuseTokens(allTokens(value, steps), scope, issues);
}

function refuseTokens(tokens: readonly AnyToken[], scope: Scope, issues: IssueList): void {
  for (const found of tokens) {
    if (found.token.kind === 'directive' || (found.token.kind === 'now' && scope === 'now'))
      continue;
    const path = joinPath('', ...found.steps);
    if (reportLeftover(found, path, issues)) continue;
    const message = `\`\${${found.body}}\` is filled in at run time, which does not happen here`;
    issues.error(
      'token_out_of_scope',
      path,
      message,
      'run-time tokens are allowed in the `config` of sources and sinks; `$${` writes a literal',
    );
  }
}
