/** From the authentication options of `serve` to an authenticator (spec 5.3, 5.4). Refuses to start rather than guess. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { check, finding, text } from '../kit/schema.ts';
import type { Env } from '../lib/env.ts';
import { AppError, ConfigError, messageOf, type Issue } from '../lib/errors.ts';
import { isLoopback } from './listen.ts';
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

type AuthEnv = Pick<Env, 'redactor' | 'variables' | 'cwd' | 'log'>;

/** Every token is registered for redaction before anything else can print it. */
export async function loadAuth(flags: AuthFlags, env: AuthEnv, listenHost?: string): Promise<Authenticator> {
  refuseMixedModes(flags);
  if (flags.noAuth === true) {
    if (listenHost !== undefined && !isLoopback(listenHost)) {
      env.log.warn('authentication is off on a network address: everybody who reaches it is an administrator', { address: listenHost });
    }
    return openToAll;
  }
  const holders = flags.authConfig === undefined ? holdersFromFlags(flags) : await holdersFromFile(flags.authConfig, env);
  for (const { token } of holders) env.redactor.register(token);
  return bearerAuth(holders);
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
  if (chosen.length > 1) throw refusal(`${chosen.join(' and ')} exclude each other`, 'choose one way to authenticate');
  if (chosen.length === 0) {
    throw refusal(
      'no way to authenticate was chosen',
      'use --auth-token, --auth-config, --read-token/--write-token/--admin-token, or --no-auth',
    );
  }
}

function holdersFromFlags(flags: AuthFlags): TokenHolder[] {
  if (flags.authToken !== undefined) return [{ name: 'token', role: 'admin', token: notEmpty(flags.authToken, '--auth-token') }];
  const holders: TokenHolder[] = [];
  for (const { flag, option, name, role } of TRIO) {
    const given = flags[flag];
    if (given === undefined) continue;
    const token = notEmpty(given, option);
    const twin = holders.find((holder) => holder.token === token);
    if (twin !== undefined) throw refusal(`${option} is the same token as --${twin.name}-token`, 'give each role its own token');
    holders.push({ name, role, token });
  }
  return holders;
}

function notEmpty(token: string, option: string): string {
  if (token.trim() === '') throw refusal(`${option} is empty`, 'give a token, or leave the option out');
  return token;
}

const authFileSchema = z.strictObject({
  principals: z
    .array(
      z.strictObject({
        name: text().meta({ description: 'Name in the audit log; unique.' }),
        token: text().meta({ description: 'Bearer token, or a `${env:NAME}` or `${file:path}` reference to it.', secret: true }),
        role: z.enum(ROLES).meta({ description: 'Rung of the role ladder.' }),
      }),
    )
    .min(1)
    .superRefine((principals, ctx) => {
      principals.forEach(({ name }, index) => {
        if (principals.findIndex((other) => other.name === name) === index) return;
        ctx.addIssue(finding('duplicate_name', `the name \`${name}\` is used twice`, { path: [index, 'name'] }));
      });
    })
    .meta({ description: 'Everybody who may call.' }),
});

async function holdersFromFile(path: string, env: AuthEnv): Promise<TokenHolder[]> {
  const file = resolve(env.cwd, path);
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw refusal(`the auth config ${path} cannot be read: ${messageOf(error)}`, 'check the path given to --auth-config');
  });
  const parsed = check(authFileSchema, parseYaml(content, path));
  if (!parsed.ok) throw refused(parsed.issues, path);
  const holders: TokenHolder[] = [];
  const issues: Issue[] = [];
  for (const [index, principal] of parsed.value.principals.entries()) {
    const at = `principals[${index}].token`;
    const token = await resolveToken(principal.token, env);
    if ('problem' in token) issues.push({ code: 'unresolved_reference', path: at, message: token.problem });
    else if (holders.some((holder) => holder.token === token.value)) {
      issues.push({ code: 'duplicate_token', path: at, message: 'this token already belongs to another principal' });
    } else holders.push({ ...principal, token: token.value });
  }
  if (issues.length > 0) throw refused(issues, path);
  return holders;
}

function parseYaml(content: string, path: string): unknown {
  const document = parseDocument(content, { prettyErrors: false });
  const [error] = document.errors;
  if (error === undefined) return document.toJS() as unknown;
  const { line, column } = position(content, error.pos[0]);
  throw refused([{ code: 'syntax', path: '', message: 'not valid YAML or JSON', line, column }], path);
}

function position(content: string, offset: number): { line: number; column: number } {
  const before = content.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const REFERENCE = /\$\{(env|file):([^}]+)\}/g;

type Resolved = { readonly value: string } | { readonly problem: string };

/** References may stand anywhere in the token; a trailing newline of the result (files have one) is dropped. */
async function resolveToken(written: string, env: AuthEnv): Promise<Resolved> {
  let value = '';
  let at = 0;
  for (const match of written.matchAll(REFERENCE)) {
    const [whole, kind, name = ''] = match;
    const found = kind === 'env' ? env.variables[name] : await readFile(resolve(env.cwd, name), 'utf8').catch(() => undefined);
    if (found === undefined) {
      return { problem: kind === 'env' ? `the environment variable \`${name}\` is not set` : `the file \`${name}\` cannot be read` };
    }
    value += written.slice(at, match.index) + found;
    at = match.index + whole.length;
  }
  value = (value + written.slice(at)).replace(/\r?\n$/, '');
  if (value.includes('${')) return { problem: 'it still holds `${` after the references were filled in' };
  if (value.trim() === '') return { problem: 'the token is empty' };
  return { value };
}

function refused(issues: readonly Issue[], file: string): ConfigError {
  return new ConfigError(issues.map((issue) => ({ ...issue, file })));
}

function refusal(message: string, hint: string): AppError {
  return new AppError('bad_option', message, { hint });
}
