/**
 * Where a document holds secret values as they are: below fields that a schema marks as secret, and
 * below names and in addresses that always hold some. Tokens are no secrets.
 */
import type { JsonSchema } from '../kit/json-schema.ts';
import { isSecretKey, redactUri } from '../lib/http/redact-uri.ts';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import type { Steps } from './parse/steps.ts';

export const SECRET_MASK = '***';

export interface SecretValue {
  readonly steps: Steps;
  readonly value: string | number | bigint;
  /** What may be shown instead. */
  readonly shown: string;
}

/** Headers that say nothing about who asks. */
const OPEN_HEADERS = /^(?:accept(?:-.*)?|content-type|user-agent|cache-control)$/i;
const SCHEME = /\b(?:bearer|basic|token|apikey)\b/gi;
const TOKEN = /\$\{[^{}]*\}/g;

/** `schema` is that of whole documents (`editorSchema`). */
export function secretValues(tree: JsonObject, schema: JsonSchema): SecretValue[] {
  const search = new Search(tree, schema);
  search.look(tree, [], [schema], { isSecret: false, holder: '' });
  // What a secret field takes from `vars` and `params` is as secret there.
  for (let known = 0; known < search.indirect.length; known += 1) {
    const steps = search.indirect[known] ?? [];
    search.look(valueAt(tree, steps), steps, [], { isSecret: true, holder: '' });
  }
  return search.found;
}

interface Place {
  /** Everything from here on is secret. */
  readonly isSecret: boolean;
  /** The key that the mapping around stands under. */
  readonly holder: string;
}

class Search {
  readonly found: SecretValue[] = [];
  /** Places of variables and parameters that secret fields name. */
  readonly indirect: Steps[] = [];
  readonly #tree: JsonObject;
  readonly #root: JsonSchema;
  readonly #seen = new Set<string>();

  constructor(tree: JsonObject, root: JsonSchema) {
    this.#tree = tree;
    this.#root = root;
  }

  look(value: JsonValue, steps: Steps, schemas: readonly JsonSchema[], place: Place): void {
    const known = schemas.flatMap((schema) => this.#matching(schema, value));
    const isSecret = place.isSecret || known.some((schema) => schema['secret'] === true);
    if (Array.isArray(value)) {
      const items = known.flatMap((schema) => schemaList(schema.items));
      for (const [index, item] of value.entries())
        this.look(item, [...steps, index], items, { ...place, isSecret });
    } else if (isObject(value)) {
      for (const [key, item] of Object.entries(value))
        this.look(
          item,
          [...steps, key],
          known.flatMap((schema) => below(schema, key)),
          {
            isSecret: isSecret || isSecretName(key, item, place.holder, value),
            holder: key,
          },
        );
    } else this.#take(value, steps, isSecret);
  }

  #take(value: Exclude<JsonValue, object>, steps: Steps, isSecret: boolean): void {
    if (value === null || typeof value === 'boolean' || value === '') return;
    const shown = shownOf(String(value), isSecret);
    const text = steps.join('\0');
    if (this.#seen.has(text)) return;
    if (isSecret && typeof value === 'string') this.#follow(value);
    if (shown === String(value)) return;
    this.#seen.add(text);
    this.found.push({ steps, value, shown });
  }

  #follow(value: string): void {
    for (const [, kind, name = ''] of value.matchAll(/\$\{(vars|param)\.([\w.-]+)\}/g)) {
      const path = kind === 'vars' ? ['vars', ...name.split('.')] : ['params', name, 'default'];
      const isKnown = this.indirect.some((one) => one.join('\0') === path.join('\0'));
      if (!isKnown && valueAt(this.#tree, path) !== null) this.indirect.push(path);
    }
  }

  /** The schema and those that it refers to, without the branches for other types. */
  #matching(schema: JsonSchema, value: JsonValue): JsonSchema[] {
    const refers = schema['$ref'];
    const target = typeof refers === 'string' ? this.#resolve(refers) : undefined;
    const branches = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => schemaList(schema[key]));
    const then = schemaList(schema['then']);
    const [condition] = schemaList(schema['if']);
    if (condition !== undefined && isOtherVariant(condition, value)) then.length = 0;
    return [
      schema,
      ...[...(target === undefined ? [] : [target]), ...branches, ...then]
        .filter((one) => !isOtherVariant(one, value))
        .flatMap((one) => this.#matching(one, value)),
    ];
  }

  #resolve(reference: string): JsonSchema | undefined {
    let at: unknown = this.#root;
    for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean))
      at = (at as Record<string, unknown> | undefined)?.[step];
    return at as JsonSchema | undefined;
  }
}

function schemaList(value: unknown): JsonSchema[] {
  if (Array.isArray(value)) return value as JsonSchema[];
  return typeof value === 'object' && value !== null ? [value as JsonSchema] : [];
}

function below(schema: JsonSchema, key: string): JsonSchema[] {
  const own = schema.properties?.[key];
  return schemaList(own ?? schema['additionalProperties']);
}

/** Whether the branch is for another `type`, `kind` … than the one written. */
function isOtherVariant(schema: JsonSchema, value: JsonValue): boolean {
  if (!isObject(value)) return false;
  return Object.entries(schema.properties ?? {}).some(([key, { const: only, enum: some }]) => {
    const written = value[key];
    if (typeof written !== 'string') return false;
    const names = typeof only === 'string' ? [only] : Array.isArray(some) ? some : [];
    return (
      names.length > 0 &&
      !names.some((name) => String(name).toLowerCase() === written.toLowerCase())
    );
  });
}

function isSecretName(key: string, item: JsonValue, holder: string, around: JsonObject): boolean {
  if (holder === 'headers') return !OPEN_HEADERS.test(key);
  // The default of a parameter that is secret.
  if (key === 'default' && around['secret'] === true) return true;
  return isSecretKey(key) && !isObject(item);
}

function shownOf(text: string, isSecret: boolean): string {
  const isAddress = text.includes('://');
  if (text.includes('${') && isHarmless(text.replaceAll(TOKEN, ''))) return text;
  if (isAddress && (!isSecret || !/^https?:/i.test(text))) return redactUri(text);
  return isSecret ? SECRET_MASK : text;
}

/** Whether what stands around tokens can be no secret: `Bearer `, `postgres://:@host/db`. */
function isHarmless(rest: string): boolean {
  const bare = rest.replaceAll(SCHEME, '').replace('://:@', '://').replace('://@', '://');
  return bare.includes('://')
    ? redactUri(bare) === bare || redactUri(bare).replaceAll(/=\*\*\*/g, '=') === bare
    : !/[a-z0-9]/i.test(bare);
}

function valueAt(tree: JsonValue, steps: Steps): JsonValue {
  let at: JsonValue | undefined = tree;
  for (const step of steps)
    at = Array.isArray(at) ? at[Number(step)] : isObject(at) ? at[step] : undefined;
  return at ?? null;
}
