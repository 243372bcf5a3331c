import { z } from 'zod';
import { tokenHeaderFields, tokenRequestFields } from '../../kit/login-fields.ts';
import { finding, number, optional, text } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { headerMap } from './fields.ts';
import { jsonPath } from './json-path.ts';

/** The kinds of login that a connector's `auth` may hold. `credentials/` implements them. */
const LOGINS = {
  none: () => z.strictObject({}),
  bearer: () => z.strictObject({ token: secret('Bearer token.') }),
  basic: () =>
    z.strictObject({
      username: text().meta({ description: 'User name.' }),
      password: z.string().meta({ description: 'Password.', secret: true }),
    }),
  api_key: () =>
    z.strictObject({
      header: text().meta({ description: 'Header that carries the key.', examples: ['X-Api-Key'] }),
      value: secret('The key.'),
    }),
  api_key_query: () =>
    z.strictObject({
      param: text().meta({ description: 'Query parameter that carries the key.' }),
      value: secret('The key.'),
    }),
  oauth2: () =>
    z.strictObject({
      token_url: text().meta({ description: 'Address of the token endpoint.' }),
      client_id: text().meta({ description: 'Client id.' }),
      client_secret: secret('Client secret.'),
      scopes: z.array(text()).default([]).meta({ description: 'Scopes to ask for.' }),
      expiry_ratio: ratio(),
    }),
  token_endpoint: () =>
    z.strictObject({
      url: text().meta({ description: 'Address of the token endpoint.' }),
      ...tokenRequestFields(),
      token_path: jsonPath().meta({ description: 'JSONPath of the token in the response.' }),
      expiry_path: optional(jsonPath()).meta({
        description:
          'JSONPath of the lifetime in seconds; unset: used until the server refuses it.',
      }),
      expiry_ratio: ratio(),
      apply_as: optional(z.strictObject(tokenHeaderFields())).meta({
        description: 'How requests carry the token; unset: as a bearer token.',
      }),
    }),
  custom: () =>
    z.strictObject({
      headers: headerMap().meta({ description: 'Headers that contain the login.', secret: true }),
    }),
} as const;

export type LoginType = keyof typeof LOGINS;

export const ALL_LOGINS = Object.keys(LOGINS) as readonly LoginType[];

/**
 * An `auth` field: `{ref: name}` of a shared login, or `{type, config}` with one of `types` or of
 * `own`, the kinds that a connector adds or means otherwise.
 */
export function auth(
  types: readonly LoginType[] = ALL_LOGINS,
  own: Readonly<Record<string, () => z.ZodType<JsonObject>>> = {},
) {
  const added = Object.keys(own).filter((type) => !types.some((one) => one === type));
  const variants = [...types, ...added].map((type) =>
    z.strictObject({
      type: z.literal(type).meta({ description: 'Kind of login.' }),
      config: fieldsOf(type, own).meta({ description: 'Fields of this kind of login.' }),
    }),
  );
  const [first, ...others] = variants;
  if (first === undefined) throw new Error('cannot happen: a connector without any login');
  const inline = z.discriminatedUnion('type', [first, ...others]);
  return optional(z.preprocess(withoutLogin, withShared(inline))).meta({
    description:
      'How requests authenticate: a shared login (`ref`), or one defined here (`type` and `config`).',
  });
}

/** `none` has no fields, and may stand alone. */
function withoutLogin(value: unknown): unknown {
  return value === 'none' ? { type: 'none' } : value;
}

function fieldsOf(
  type: string,
  own: Readonly<Record<string, () => z.ZodType<JsonObject>>>,
): z.ZodType<JsonObject> {
  if (type === 'none') return z.preprocess((value) => value ?? {}, LOGINS.none());
  const make = own[type] ?? LOGINS[type as LoginType];
  return make();
}

/** `inline`, or `{ref: name}` of a shared login. */
export function withShared<T extends z.ZodType>(inline: T) {
  const shared = z.strictObject({
    ref: text().meta({ description: 'Name of a login declared in the top-level `auth` block.' }),
  });
  return z.preprocess(oneForm, z.union([inline, shared]));
}

type Context = { addIssue(issue: ReturnType<typeof finding>): void };

/** `ref` together with other keys is refused here, where the message can say what to do. */
function oneForm(value: unknown, ctx: Context): unknown {
  if (typeof value !== 'object' || value === null || !('ref' in value)) return value;
  const beside = Object.entries(value).filter(([key, one]) => key !== 'ref' && one !== null);
  if (beside.length === 0) return { ref: value.ref };
  const keys = beside.map(([key]) => `\`${key}\``).join(', ');
  const hint = `remove ${keys} to use the shared login, or remove \`ref\` to write the login here`;
  ctx.addIssue(finding('invalid_value', `\`ref\` cannot be combined with ${keys}`, { hint }));
  return value;
}

function secret(description: string) {
  return text().meta({ description, secret: true });
}

function ratio() {
  return number({ min: Number.MIN_VALUE, max: 1 })
    .default(0.9)
    .meta({ description: 'Part of its lifetime after which a token is renewed.' });
}
