/** `${trigger.<name>}` in the documents that triggers run. */
import { allTokens } from '../../document/tokens/find-tokens.ts';
import { classify, rewriteTokens } from '../../document/tokens/tokens.ts';
import type { TriggerToken } from '../../kit/trigger.ts';
import type { Issue } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Trigger } from './trigger-file.ts';

/** Every token that a run of the trigger can fill in. */
export function tokensOf({ name, definition, config }: Trigger): readonly TriggerToken[] {
  return [
    { name: 'name', example: name },
    { name: 'type', example: definition.type },
    { name: 'fired_at', example: '2026-01-31T08:00:00Z' },
    ...definition.tokens(config),
  ];
}

/** Tokens of a document that no run of the trigger would fill in. */
export function unknownTokens(tree: JsonObject, tokens: readonly TriggerToken[]): Issue[] {
  const names = tokens.map(({ name, isGroup }) => (isGroup === true ? `${name}.…` : name));
  return allTokens(tree, []).flatMap(({ steps, body, token }): Issue[] => {
    if (token.kind !== 'path' || token.root !== 'trigger') return [];
    if (exampleOf(token.path, tokens) !== undefined) return [];
    const hint = suggestion(token.path, names, 'there are');
    return [
      {
        code: 'unknown_token',
        path: joinPath('', ...steps),
        message: `this trigger has no \`\${${body}}\``,
        ...(hint === undefined ? {} : { hint }),
      },
    ];
  });
}

/** The document with values that the tokens may have, for checking it. */
export function withExamples(value: JsonObject, tokens: readonly TriggerToken[]): JsonObject {
  return filled(value, tokens) as JsonObject;
}

function filled(value: JsonValue, tokens: readonly TriggerToken[]): JsonValue {
  if (typeof value === 'string') return filledText(value, tokens);
  if (Array.isArray(value)) return value.map((item) => filled(item, tokens));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [filledText(key, tokens), filled(item, tokens)]),
  );
}

function filledText(text: string, tokens: readonly TriggerToken[]): string {
  return rewriteTokens(text, {
    replace: (body) => {
      const token = classify(body);
      const example =
        token.kind === 'path' && token.root === 'trigger'
          ? exampleOf(token.path, tokens)
          : undefined;
      return example ?? `\${${body}}`;
    },
    tooDeep: () => undefined,
  });
}

function exampleOf(path: string, tokens: readonly TriggerToken[]): string | undefined {
  return tokens.find(({ name, isGroup }) =>
    isGroup === true ? path.startsWith(`${name}.`) && path.length > name.length + 1 : path === name,
  )?.example;
}
