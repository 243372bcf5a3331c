/**
 * From the authentication options of `serve` to an authenticator. Refuses to start rather than
 * guess.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { interpolate } from '../../document/tokens/interpolate.ts';
import type { TokenSources } from '../../document/tokens/outside-values.ts';
import { MAX_DOCUMENT_BYTES } from '../../document/text/limits.ts';
import { localFiles } from '../../document/text/local-file.ts';
import { withPlaces } from '../../document/text/locate.ts';
import { parseText, type ParsedText } from '../../document/parse/parse.ts';
import { isUnfilled, restoreEscapes } from '../../document/tokens/tokens.ts';
import { check, finding, text } from '../../kit/schema.ts';
import type { Env } from '../../lib/env.ts';
import { AppError, ConfigError, type Issue } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import { isLoopback } from '../http/listen.ts';
import { bearerAuth, openToAll, type Authenticator, type TokenHolder } from './auth.ts';
import { ROLES, type Role } from './permissions.ts';

/** As given on the command line or in the environment; absent means not given. */
export interface AuthFlags {
  readonly noAuth?: boolean;
  readonly authToken?: string;
  /** Path of a YAML or JSON file with `principals`. */
  readonly authConfig?: string;
  readonly readToken?: string;
  readonly writeToken?: string;
  readonly adminToken?: string;
}

const TRIO: readonly {
  readonly flag: 'readToken' | 'writeToken' | 'adminToken';
  readonly option: string;
  readonly name: string;
  readonly role: Role;
}[] = [
  { flag: 'readToken', option: '--read-token', name: 'read', role: 'viewer' },
  { flag: 'writeToken', option: '--write-token', name: 'write', role: 'operator' },
  { flag: 'adminToken', option: '--admin-token', name: 'admin', role: 'admin' },
];

type AuthEnv = Pick<Env, 'redactor' | 'variables' | 'cwd' | 'log'> &
  Pick<TokenSources, 'secretManagers'>;

/**
 * Every token is registered for redaction before anything else can print it. `onFile` is told each
 * file that tokens are read from.
 */
export function loadAuth(
  flags: AuthFlags,
  env: AuthEnv,
  listenHost?: string,
  onFile: (path: string) => void = () => {},
): Authenticator {
  refuseMixedModes(flags);
  if (flags.noAuth === true) {
    if (listenHost !== undefined && !isLoopback(listenHost)) {
      env.log.warn(
        'authentication is off on a network address: everybody who reaches it is an administrator',
        { address: listenHost },
      );
    }
    return openToAll;
  }
  const holders =
    flags.authConfig === undefined
      ? holdersFromFlags(flags)
      : holdersFromFile(flags.authConfig, env, onFile);
  for (const { token } of holders) env.redactor.register(token);
  for (const { name, token } of holders)
    if (!isSendable(token))
      env.log.warn('nobody can send this token: a header cannot hold it', {
        principal: name,
        hint: 'leave out control characters, and spaces at its ends',
      });
  return bearerAuth(holders);
}

/** Headers hold no control characters, and lose the spaces at their ends. */
function isSendable(token: string): boolean {
  return token.trim() === token && !/\p{Cc}/u.test(token);
}

function refuseMixedModes(flags: AuthFlags): void {
  const chosen = [
    flags.noAuth === true ? '--no-auth' : undefined,
    flags.authToken === undefined ? undefined : '--auth-token',
    flags.authConfig === undefined ? undefined : '--auth-config',
    TRIO.filter(({ flag }) => flags[flag] !== undefined)
      .map(({ option }) => option)
      .join(' and ') || undefined,
  ].filter((option) => option !== undefined);
  if (chosen.length > 1)
    throw refusal(`${chosen.join(' and ')} exclude each other`, 'choose one way to authenticate');
  if (chosen.length === 0) {
    throw refusal(
      'no way to authenticate was chosen',
      'use --auth-token, --auth-config, --read-token/--write-token/--admin-token, or --no-auth',
    );
  }
}

function holdersFromFlags(flags: AuthFlags): TokenHolder[] {
  if (flags.authToken !== undefined)
    return [{ name: 'token', role: 'admin', token: notEmpty(flags.authToken, '--auth-token') }];
  const holders: TokenHolder[] = [];
  for (const { flag, option, name, role } of TRIO) {
    const given = flags[flag];
    if (given === undefined) continue;
    const token = notEmpty(given, option);
    const twin = holders.find((holder) => holder.token === token);
    if (twin !== undefined)
      throw refusal(
        `${option} is the same token as --${twin.name}-token`,
        'give each role its own token',
      );
    holders.push({ name, role, token });
  }
  return holders;
}

function notEmpty(token: string, option: string): string {
  if (token.trim() === '')
    throw refusal(`${option} is empty`, 'give a token, or leave the option out');
  return token;
}

const authFileSchema = z.strictObject({
  principals: z
    .array(
      z.strictObject({
        name: text().meta({ description: 'Name in the audit log; unique.' }),
        token: z
          .string()
          .transform((token) => restoreEscapes(token).replace(/\r?\n$/, ''))
          .meta({
            description:
              'Bearer token, or a `${env:NAME}` or `${file:path}` reference to it; unique.',
            secret: true,
          }),
        role: z.enum(ROLES).meta({ description: 'Rung of the role ladder.' }),
      }),
    )
    .min(1)
    .superRefine((principals, ctx) => {
      for (const [index, { name, token }] of principals.entries()) {
        const before = principals.slice(0, index);
        if (token.trim() === '')
          ctx.addIssue(finding('out_of_range', 'the token is empty', { path: [index, 'token'] }));
        if (before.some((other) => other.name === name)) {
          ctx.addIssue(
            finding('duplicate_name', `the name \`${name}\` is used twice`, {
              path: [index, 'name'],
            }),
          );
        }
        if (before.some((other) => other.token === token)) {
          ctx.addIssue(
            finding('duplicate_token', 'this token already belongs to another principal', {
              path: [index, 'token'],
            }),
          );
        }
      }
    })
    .meta({ description: 'Everybody who may call.' }),
});

/**
 * Read as a document is: the same YAML or JSON, the same references, the same findings with line
 * and column.
 */
function holdersFromFile(
  path: string,
  env: AuthEnv,
  onFile: (path: string) => void,
): TokenHolder[] {
  const read = localFiles(env.cwd);
  const readFile: typeof read = (name, limitBytes) => {
    onFile(resolve(env.cwd, name));
    return read(name, limitBytes);
  };
  const { tree, locate } = parseAuthFile(path, readFile);
  const { variables, redactor, secretManagers } = env;
  const filled = interpolate(tree, { variables, redactor, readFile, secretManagers });
  const issues = [...filled.issues, ...leftovers(filled.tree)];
  if (issues.length > 0) throw refused(withPlaces(issues, locate), path);
  const parsed = check(authFileSchema, filled.tree);
  if (!parsed.ok) throw refused(withPlaces(parsed.issues, locate), path);
  return parsed.value.principals;
}

function parseAuthFile(path: string, readFile: ReturnType<typeof localFiles>): ParsedText {
  let content: string;
  try {
    content = new TextDecoder('utf-8', { fatal: true }).decode(readFile(path, MAX_DOCUMENT_BYTES));
  } catch (error) {
    throw refusal(
      `the auth config ${path} cannot be read: ${fileFault(error).says}`,
      'check the path given to --auth-config',
    );
  }
  try {
    return parseText(content, 'yaml', { kind: 'file', path });
  } catch (error) {
    throw error instanceof ConfigError ? refused(error.issues, path) : error;
  }
}

/**
 * Tokens that are filled in when a run executes have no meaning here: what is left of them would be
 * a guessable password.
 */
function leftovers(tree: JsonObject): Issue[] {
  const { principals } = tree;
  return (Array.isArray(principals) ? principals : []).flatMap((principal, index) => {
    const token = isObject(principal) ? principal['token'] : undefined;
    // What could not be filled in is told already.
    if (typeof token !== 'string' || !token.includes('${') || isUnfilled(token)) return [];
    return [
      {
        code: 'unknown_token',
        path: `principals[${index}].token`,
        message: 'only `${env:…}` and `${file:…}` can stand in a token',
      },
    ];
  });
}

function refused(issues: readonly Issue[], file: string): ConfigError {
  return new ConfigError(issues.map((issue) => ({ ...issue, file })));
}

function refusal(message: string, hint: string): AppError {
  return new AppError('bad_option', message, { hint });
}
