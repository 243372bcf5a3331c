/** Finds the run-time tokens of a value. */
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { Steps } from '../parse/steps.ts';
import { classify, rewriteTokens, type Token } from './tokens.ts';

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

/** Every token of connectors, such as `${bookmark}` or `${window.start}`. */
export function findConnectorTokens(value: JsonValue): ConnectorToken[] {
  return allTokens(value, []).flatMap(({ steps, body, token }) =>
    token.kind === 'connector' ? [{ steps, body, name: body.split(/[.:]/)[0] ?? body }] : [],
  );
}

export interface AnyToken {
  readonly steps: Steps;
  readonly body: string;
  readonly token: Token;
}

/** Those and the tokens of connectors. */
export function allTokens(value: JsonValue, steps: Steps): AnyToken[] {
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
