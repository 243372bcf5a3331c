/** What a template that others use must not hold. */
import type { Issue } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { joinPath } from '../../../lib/text/text-path.ts';
import type { TemplateDocument } from './read.ts';

const CREDENTIALS = [
  'token',
  'secret',
  'password',
  'passwd',
  'api_key',
  'apikey',
  'private_key',
  'client_secret',
  'access_key',
  'secret_key',
  'consumer_secret',
  'token_secret',
  'json',
  'credentials',
];
const PRIVATE = ['.rds.amazonaws.com', '.internal', 'localhost:', '127.0.0.1', 'REPLACE_ME'];
const URL_PASSWORD = /\b[a-z][a-z0-9+.-]*:\/\/[^\s/@:]*:(?!\$\{)[^\s/@]+@/i;

/** Every reason why a template cannot be published; a pipeline is not looked at. */
export function lint({ kind, tree }: TemplateDocument): Issue[] {
  if (kind === 'pipeline') return [];
  return [
    ...missingDescription(tree),
    ...credentials(kind, tree),
    ...(kind === 'deployment' ? urlPasswords(tree, '') : privateNames(tree, '')),
    ...secretParams(tree),
  ];
}

function missingDescription({ description }: JsonObject): Issue[] {
  if (typeof description === 'string' && description.trim() !== '') return [];
  return [finding('description', 'a template that others use says what it is for', 'describe it')];
}

/** A literal under a name that a credential has. */
function credentials(kind: string, tree: JsonObject): Issue[] {
  const places =
    kind === 'source-template'
      ? ['source', 'sources', 'streams', 'auth']
      : ['sink', 'per_stream', 'auth'];
  return places.flatMap((place) => credentialsBelow(tree[place] ?? null, place));
}

function credentialsBelow(value: JsonValue, path: string): Issue[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => credentialsBelow(item, joinPath(path, index)));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const here = joinPath(path, key);
    return typeof item === 'string' && isCredentialName(key) && isLiteral(item)
      ? [
          finding(
            here,
            `\`${key}\` holds a credential as text`,
            'use `${env:…}`, `${secret:…}` or a secret parameter',
          ),
        ]
      : credentialsBelow(item, here);
  });
}

function isCredentialName(key: string): boolean {
  const name = key.toLowerCase();
  return CREDENTIALS.some((word) => name === word || name.endsWith(`_${word}`));
}

/** Texts that hold no credential: tokens, paths into an answer, and what is too short for one. */
function isLiteral(text: string): boolean {
  return (
    text.length > 2 &&
    !/^\$\{[^}]*\}$/.test(text) &&
    !text.startsWith('$.') &&
    !text.startsWith('$[')
  );
}

function privateNames(value: JsonValue, path: string): Issue[] {
  return texts(value, path).flatMap(({ path: here, text }) => {
    const found = PRIVATE.find((mark) => text.includes(mark));
    return found === undefined
      ? []
      : [finding(here, `\`${found}\` belongs to one place only`, 'make it a parameter')];
  });
}

function urlPasswords(value: JsonValue, path: string): Issue[] {
  return texts(value, path).flatMap(({ path: here, text }) =>
    URL_PASSWORD.test(text)
      ? [finding(here, 'the address holds a password', 'use `${env:…}` or `${secret:…}`')]
      : [],
  );
}

function texts(value: JsonValue, path: string): { readonly path: string; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value))
    return value.flatMap((item, index) => texts(item, joinPath(path, index)));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => texts(item, joinPath(path, key)));
}

function secretParams({ params }: JsonObject): Issue[] {
  if (!isObject(params)) return [];
  return Object.entries(params).flatMap(([name, entry]) => {
    const { secret, default: fallback } = isObject(entry) ? entry : {};
    const path = joinPath('params', name);
    if (secret !== true)
      return isCredentialName(name)
        ? [finding(path, `\`${name}\` looks like a credential`, 'set `secret: true`')]
        : [];
    return fallback === undefined || fallback === null || fallback === ''
      ? []
      : [finding(joinPath(path, 'default'), 'a secret has no default', 'let the caller supply it')];
  });
}

function finding(path: string, message: string, hint: string): Issue {
  return { code: 'not_publishable', path, message, hint };
}
