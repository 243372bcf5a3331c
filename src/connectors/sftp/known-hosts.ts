/** The file of host keys that OpenSSH has too: which key a server is known by. */
import { createHmac } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import type { HostKeys } from '../../lib/objects/sftp-session.ts';
import type { Log } from '../../lib/log.ts';
import { nameShape } from './name-shape.ts';

export interface KnownHosts {
  readonly mode: 'accept_new' | 'strict' | 'insecure';
  readonly path: string;
  readonly host: string;
  readonly port: number;
  readonly log: Log;
}

const ALGORITHMS: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
  'ssh-rsa',
];

/** One key that the file has of the server. */
interface KnownKey {
  readonly type: string;
  /** In base64. */
  readonly key: string;
  readonly isRevoked: boolean;
}

export async function hostKeysOf(known: KnownHosts): Promise<HostKeys> {
  if (known.mode === 'insecure')
    return { algorithms: ALGORITHMS, accept: () => Promise.resolve(undefined) };
  const keys = knownKeys(await contentOf(known), hostName(known));
  const good = keys.filter(({ isRevoked }) => !isRevoked);
  const isKnownType = (name: string): boolean => good.some(({ type }) => typeOf(name) === type);
  return {
    // The server is asked for a key that can be compared.
    algorithms: ALGORITHMS.toSorted((a, b) => Number(isKnownType(b)) - Number(isKnownType(a))),
    accept: async (bytes) => {
      const key = bytes.toString('base64');
      if (keys.some((one) => one.isRevoked && one.key === key))
        return refused(known, `the key of ${hostName(known)} is marked as revoked`);
      if (good.some((one) => one.key === key)) return undefined;
      if (good.length > 0)
        return refused(known, `the key of ${hostName(known)} is another one than that in the file`);
      if (known.mode === 'strict')
        return refused(known, `the file has no key of ${hostName(known)}`);
      await remember(known, bytes);
      return undefined;
    },
  };
}

function refused({ path, mode }: KnownHosts, why: string): ConnectorError {
  const hint =
    mode === 'strict'
      ? 'ask who runs the server for its key, and put that into the file (`ssh-keyscan` gives the line)'
      : 'ask who runs the server whether its key was changed; then remove the old line from the file';
  return new ConnectorError(
    'refused',
    `the server may not be the one that is meant: ${why} (${path})`,
    {
      hint,
    },
  );
}

async function contentOf({ path, mode }: KnownHosts): Promise<string> {
  try {
    return await readFile(permittedFile(path), 'utf8');
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    const isMissing = (error as { readonly code?: unknown }).code === 'ENOENT';
    if (isMissing && mode === 'accept_new') return '';
    throw new ConnectorError(
      'missing',
      `the file of known hosts cannot be read: ${messageOf(error)}`,
      {
        cause: error,
        hint: 'set `known_hosts.known_hosts_path`',
      },
    );
  }
}

/** A server that is met for the first time. */
async function remember(known: KnownHosts, bytes: Buffer): Promise<void> {
  const { path, log } = known;
  const line = `${hostName(known)} ${keyType(bytes)} ${bytes.toString('base64')}\n`;
  try {
    await mkdir(dirname(permittedFile(path)), { recursive: true, mode: 0o700 });
    const before = await readFile(path, 'utf8').catch(() => '');
    const start = before === '' || before.endsWith('\n') ? '' : '\n';
    await appendFile(path, start + line, { mode: 0o600 });
    log.info('the key of a server was seen for the first time and is remembered', {
      host: hostName(known),
      file: path,
    });
  } catch (error) {
    throw new ConnectorError(
      'refused',
      `the key of ${hostName(known)} cannot be remembered in ${path}: ${messageOf(error)}`,
      {
        cause: error,
        hint: 'set `known_hosts.known_hosts_path` to a file that can be written, or use `mode: strict`',
      },
    );
  }
}

/** The key begins with the length and the name of its type. */
function keyType(bytes: Buffer): string {
  return bytes.subarray(4, 4 + bytes.readUInt32BE(0)).toString('latin1');
}

function typeOf(algorithm: string): string {
  return algorithm.startsWith('rsa-sha2-') ? 'ssh-rsa' : algorithm;
}

function hostName({ host, port }: KnownHosts): string {
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

export function knownKeys(content: string, host: string): KnownKey[] {
  return content.split('\n').flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const marker = words[0]?.startsWith('@') === true ? words.shift() : undefined;
    const [hosts = '', type = '', key = ''] = words;
    if (hosts.startsWith('#') || key === '' || !isFor(hosts, host)) return [];
    // Keys that sign others are not compared.
    if (marker !== undefined && marker !== '@revoked') return [];
    return [{ type, key, isRevoked: marker === '@revoked' }];
  });
}

function isFor(hosts: string, host: string): boolean {
  if (hosts.startsWith('|1|')) return isHashed(hosts, host);
  const patterns = hosts.toLowerCase().split(',');
  if (patterns.some((one) => one.startsWith('!') && nameShape(one.slice(1)).test(host)))
    return false;
  return patterns.some((one) => nameShape(one).test(host));
}

function isHashed(entry: string, host: string): boolean {
  const [, , salt = '', hash = ''] = entry.split('|');
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(host).digest('base64') === hash;
}
