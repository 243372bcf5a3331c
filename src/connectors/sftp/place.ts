/** Where the files of an SFTP server are, and who asks for them. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, posix } from 'node:path';
import { z } from 'zod';
import type { PartContext } from '../../kit/context.ts';
import { finding, integer, optional, text } from '../../kit/schema.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { filesRoot, permittedFile } from '../../lib/files/file-access.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { openSftp, type SftpReading } from '../../lib/objects/sftp-objects.ts';
import { isObject } from '../../lib/text/json.ts';
import { resolvePath } from '../_files/paths.ts';
import { runRequests, type Requesting } from '../_http/run-requests.ts';
import { hostKeysOf } from './known-hosts.ts';

export function sftpFields() {
  return {
    host: text().meta({
      description: 'Name or address of the server.',
      examples: ['sftp.example.com'],
    }),
    port: integer({ min: 1, max: 65_535 }).default(22).meta({ description: 'Its port.' }),
    username: text().meta({ description: 'Who logs in.' }),
    type: z.enum(['password', 'private_key']).meta({
      description: 'How the login is proven; may also be written as `auth: {type, config}`.',
    }),
    config: z
      .strictObject({
        password: optional(text()).meta({
          description: 'For `type: password`.',
          secret: true,
        }),
        path: optional(text()).meta({
          description: 'File of the private key, for `type: private_key`.',
        }),
        passphrase: optional(text()).meta({
          description: 'What the private key is encrypted with, if it is.',
          secret: true,
        }),
      })
      .meta({ description: 'The password, or the private key.' }),
    known_hosts: knownHosts(),
  };
}

function knownHosts() {
  const path = (description: string) => optional(text()).meta({ description });
  return z
    .discriminatedUnion('mode', [
      z.strictObject({
        mode: z.literal('accept_new').meta({
          description:
            'The key of a server that is met for the first time is remembered; another key later fails.',
        }),
        known_hosts_path: path('File of the keys; `~/.ssh/known_hosts` when absent.'),
      }),
      z.strictObject({
        mode: z.literal('strict').meta({ description: 'Only servers whose key the file has.' }),
        known_hosts_path: path('File of the keys; `~/.ssh/known_hosts` when absent.'),
      }),
      z.strictObject({
        mode: z.literal('insecure').meta({
          description:
            'Any server, without a look at its key: whoever sits in between can read along.',
        }),
      }),
    ])
    .prefault({ mode: 'accept_new' })
    .meta({ description: 'How the server proves that it is the one that is meant.' });
}

/** Documents from elsewhere write `auth: {type, config}`, and `known_hosts: insecure`. */
export function tolerant<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => {
    if (!isObject(value)) return value;
    const { auth, known_hosts: known, ...rest } = value;
    const hosts =
      known === undefined
        ? {}
        : { known_hosts: typeof known === 'string' ? { mode: known } : known };
    if (auth === undefined || 'type' in rest || 'config' in rest || !isObject(auth))
      return auth === undefined ? { ...rest, ...hosts } : { ...rest, ...hosts, auth };
    return { ...rest, ...hosts, ...auth };
  }, schema);
}

/** Documents name lines of JSON `jsonl` here. */
export function withJsonl<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => {
    const named = isObject(value) && Object.keys(value).length === 1 ? value['type'] : value;
    return named === 'jsonl' ? 'json_lines' : value;
  }, schema);
}

export interface SftpConfig {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly type: 'password' | 'private_key';
  readonly config: {
    readonly password?: string | undefined;
    readonly path?: string | undefined;
    readonly passphrase?: string | undefined;
  };
  readonly known_hosts: z.output<ReturnType<typeof knownHosts>>;
  readonly path: string;
}

export function checkLogin(
  { type, config }: Pick<SftpConfig, 'type' | 'config'>,
  ctx: z.RefinementCtx,
): void {
  const issue = (name: string, code: string, message: string): void =>
    ctx.addIssue(finding(code, message, { path: ['config', name] }));
  const isPassword = type === 'password';
  const needed = isPassword ? 'password' : 'path';
  if (config[needed] === undefined)
    issue(needed, 'missing_field', `\`type: ${type}\` needs \`${needed}\``);
  for (const name of isPassword ? (['path', 'passphrase'] as const) : (['password'] as const))
    if (config[name] !== undefined)
      issue(name, 'invalid_value', `\`${name}\` has no place in \`type: ${type}\``);
}

export function sftpAddress({
  host,
  port,
  path,
}: Pick<SftpConfig, 'host' | 'port' | 'path'>): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `sftp://${name}:${port}${path.startsWith('/') ? '' : '/'}`;
}

/** With `/` at the end; empty for the home folder of the user. */
export function folderOf(path: string): string {
  const plain = posix.normalize(path);
  if (plain === '.' || plain === './') return '';
  return plain.endsWith('/') ? plain : `${plain}/`;
}

export async function openFiles(
  config: SftpConfig,
  context: Requesting & PartContext,
  reading?: SftpReading,
): Promise<ObjectStore> {
  const { host, port, username, config: secret, known_hosts: known } = config;
  const { env } = context;
  for (const value of [secret.password, secret.passphrase])
    if (value !== undefined) env.redactor.register(value);
  const given = known.mode === 'insecure' ? undefined : known.known_hosts_path;
  const path =
    given === undefined
      ? join(filesRoot() ?? homedir(), '.ssh', 'known_hosts')
      : resolvePath(env.cwd, given);
  return openSftp(
    {
      login: {
        host,
        port,
        username,
        password: secret.password,
        passphrase: secret.passphrase,
        ...(secret.path === undefined
          ? {}
          : { privateKey: await keyAt(resolvePath(env.cwd, secret.path)) }),
      },
      hostKeys: () => hostKeysOf({ mode: known.mode, path, host, port, log: env.log }),
      address: sftpAddress(config),
      ...(reading === undefined ? {} : { reading }),
    },
    runRequests(context),
  );
}

async function keyAt(path: string): Promise<Buffer> {
  try {
    return await readFile(permittedFile(path));
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('missing', `the private key cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
