import type { CredentialDefinition } from '../kit/credential.ts';
import type { CredentialContext, CredentialProvider, Credentials } from '../kit/context.ts';
import type { Registry } from '../kit/parts.ts';
import { check } from '../kit/schema.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { suggestion } from '../lib/text/nearest.ts';
import { flowCredential } from './flow/index.ts';
import { INLINE_LOGINS, NAMED_TYPES_INLINE } from './inline.ts';
import { oauth1Credential } from './oauth1.ts';
import { oauth2Credential } from './oauth2.ts';
import { oauth2RefreshCredential } from './oauth2-refresh.ts';
import { fixed, NO_CREDENTIAL } from './placement.ts';
import { staticCredential } from './static.ts';
import { tokenEndpointCredential } from './token-endpoint.ts';

export const CREDENTIALS: readonly CredentialDefinition[] = [
  flowCredential,
  oauth1Credential,
  oauth2Credential,
  oauth2RefreshCredential,
  staticCredential,
  tokenEndpointCredential,
];

export type DeclaredLogins = Readonly<
  Record<string, { readonly type: string; readonly config: JsonObject }>
>;

/**
 * Builds every declared provider, used or not, without making a request. Throws `ConfigError`
 * naming each that cannot be built.
 */
export function createCredentials(
  registry: Registry<CredentialDefinition>,
  declared: DeclaredLogins,
  context: CredentialContext,
): Credentials {
  const issues: Issue[] = [];
  const shared = new Map<string, CredentialProvider>();
  for (const [name, login] of Object.entries(declared)) {
    const built = build(registry, login, `auth.${name}`, context);
    if (Array.isArray(built)) issues.push(...built);
    else shared.set(name, built);
  }
  if (issues.length > 0) throw new ConfigError(issues);
  return { resolve: (auth) => resolveLogin(auth, { registry, shared, context }) };
}

interface World {
  readonly registry: Registry<CredentialDefinition>;
  readonly shared: ReadonlyMap<string, CredentialProvider>;
  readonly context: CredentialContext;
}

function resolveLogin(auth: JsonObject | undefined, world: World): CredentialProvider {
  if (auth === undefined) return fixed(NO_CREDENTIAL);
  const { ref, type, ...rest } = auth;
  if (ref !== undefined && ref !== null) {
    const beside = Object.keys(auth).filter(
      (key) => key !== 'ref' && auth[key] !== null && auth[key] !== undefined,
    );
    if (beside.length > 0) throw bothForms(beside);
    return sharedLogin(ref, world.shared);
  }
  const stray = Object.keys(rest).find((key) => key !== 'config');
  if (stray !== undefined)
    throw refuse(
      'unknown_key',
      `auth.${stray}`,
      `unknown key \`${stray}\``,
      'put the fields of the login under `config`',
    );
  if (typeof type !== 'string')
    throw refuse(
      'missing_key',
      'auth',
      '`auth` needs `type` or `ref`',
      `types: ${inlineTypes().join(', ')}`,
    );
  return inlineLogin(type, rest['config'] ?? {}, world);
}

function sharedLogin(
  ref: JsonValue,
  shared: ReadonlyMap<string, CredentialProvider>,
): CredentialProvider {
  const found = typeof ref === 'string' ? shared.get(ref) : undefined;
  if (found !== undefined) return found;
  const hint =
    typeof ref === 'string' ? suggestion(ref, [...shared.keys()], 'declared') : undefined;
  throw refuse(
    'unknown_auth',
    'auth.ref',
    `no login called \`${jsonText(ref)}\` is declared`,
    hint ?? 'declare it in the top-level `auth` block',
  );
}

function inlineLogin(type: string, config: JsonValue, world: World): CredentialProvider {
  const login = INLINE_LOGINS[type];
  const named = (NAMED_TYPES_INLINE as readonly string[]).includes(type)
    ? world.registry.get(type)
    : undefined;
  const schema = login?.config ?? named?.config;
  if (schema === undefined) {
    const hint =
      world.registry.get(type) === undefined
        ? suggestion(type, inlineTypes())
        : 'declare it in the top-level `auth` block and write `auth: {ref: <name>}`';
    throw refuse(
      'unknown_type',
      'auth.type',
      `\`${type}\` is not a login that can stand here`,
      hint,
    );
  }
  const checked = check(schema, config, 'auth.config');
  if (!checked.ok) throw new ConfigError(checked.issues);
  const provider =
    login?.open(checked.value, world.context) ?? named?.open(checked.value, world.context);
  if (provider === undefined)
    throw new Error(`cannot happen: ${type} has a schema but no way to open it`);
  return provider;
}

function build(
  registry: Registry<CredentialDefinition>,
  login: { readonly type: string; readonly config: JsonObject },
  path: string,
  context: CredentialContext,
): CredentialProvider | Issue[] {
  const definition = registry.get(login.type);
  if (definition === undefined) {
    const hint = registry.suggest(login.type);
    const issue = {
      code: 'unknown_type',
      path: `${path}.type`,
      message: `there is no login type \`${login.type}\``,
    };
    return [hint === undefined ? issue : { ...issue, hint }];
  }
  const checked = check(
    definition.config,
    isObject(login.config) ? login.config : {},
    `${path}.config`,
  );
  return checked.ok ? definition.open(checked.value, context) : [...checked.issues];
}

function inlineTypes(): string[] {
  return [...Object.keys(INLINE_LOGINS), ...NAMED_TYPES_INLINE].sort();
}

function bothForms(beside: readonly string[]): ConfigError {
  const keys = beside.map((key) => `\`${key}\``).join(', ');
  return refuse(
    'invalid_value',
    'auth',
    `\`ref\` cannot be combined with ${keys}`,
    `remove ${keys} to use the shared login, or remove \`ref\` to write the login here`,
  );
}

function refuse(
  code: string,
  path: string,
  message: string,
  hint: string | undefined,
): ConfigError {
  return new ConfigError([
    hint === undefined ? { code, path, message } : { code, path, message, hint },
  ]);
}
