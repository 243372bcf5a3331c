/**
 * `${param.NAME}` and `${map:NAME|case=value|*=default}`: what parameters are used for (spec 2.7).
 */
import { jsonText, type JsonScalar } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { restoreEscapes, unfilled } from './tokens.ts';

export type Report = (code: string, message: string, hint?: string) => void;

export interface BoundParam {
  readonly kind: 'bound';
  /** May hold marks of escaped literals and, from a default, run-time tokens. */
  readonly value: JsonScalar;
  readonly secret: boolean;
  /** A placeholder for a value that is not supplied: the document is only checked. */
  readonly placeholder: boolean;
}

/** The value of a declared parameter. The issue of an invalid one was already reported. */
export type ParamState = BoundParam | { readonly kind: 'absent' | 'failed' };

export interface ParamSource {
  readonly names: readonly string[];
  /** `undefined` when the name is not declared. */
  find(name: string): ParamState | undefined;
}

export function findParam(
  params: ParamSource,
  name: string,
  report: Report,
): BoundParam | undefined {
  if (name === '')
    report('invalid_token', '`${param.}` names no parameter', 'write `${param.<name>}`');
  else if (name.includes('.'))
    report(
      'invalid_token',
      `\`\${param.${name}}\`: a parameter is a single value and has nothing inside`,
    );
  else {
    const found = params.find(name);
    if (found?.kind === 'bound') return found;
    if (found === undefined)
      report(
        'unknown_param',
        `the parameter \`${name}\` is not declared`,
        declaredHint(name, params.names),
      );
    else if (found.kind === 'absent') {
      report(
        'missing_param',
        `the parameter \`${name}\` has no value`,
        'supply it, or give it a `default`',
      );
    }
  }
  return undefined;
}

export function declaredHint(name: string, names: readonly string[]): string {
  return suggestion(name, names, 'declared are') ?? 'declare it under `params`';
}

/** The text of `${map:…}`; its inner tokens are filled in already. */
export function lookUp(params: ParamSource, rest: string, report: Report): string {
  const [name = '', ...arms] = rest.split('|');
  const cases = new Map<string, string>();
  for (const arm of arms) {
    const equals = arm.indexOf('=');
    if (equals === -1) {
      report(
        'invalid_token',
        `\`\${map:${rest}}\`: \`${arm}\` is no \`case=value\``,
        'write `${map:NAME|case=value|*=default}`',
      );
      return '';
    }
    cases.set(arm.slice(0, equals).trim(), arm.slice(equals + 1));
  }
  const param = findParam(params, name.trim(), report);
  if (param === undefined) return unfilled(`map:${rest}`);
  const text = jsonText(param.value);
  const found = cases.get(text) ?? cases.get('*');
  if (found !== undefined) return found;
  // A placeholder is no value to judge a lookup by.
  if (param.placeholder) return cases.values().next().value ?? '';
  const shown = param.secret ? '' : ` \`${restoreEscapes(text)}\``;
  report(
    'lookup_unmatched',
    `\`\${map:${name.trim()}|…}\` has no case for the value${shown} of the parameter \`${name.trim()}\``,
    casesHint(cases),
  );
  return '';
}

function casesHint(cases: ReadonlyMap<string, string>): string {
  const names = [...cases.keys()].slice(0, 20).join(', ');
  return `${names === '' ? '' : `cases are: ${names}; `}add one, or \`*=…\` for all others`;
}
