/**
 * OpenSSH for tests: `sshd` with a host key and a user key of its own, on a free port. Where it is
 * not installed, `sftpOrReason` says so and suites are skipped with that reason.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { freePort, serverFolder, startServer } from './test-servers.ts';

export interface SftpServer {
  readonly port: number;
  /** Belongs to the server; what tests store lies in `files`. */
  readonly folder: string;
  readonly files: string;
  readonly username: string;
  /** File of the private key by which the user logs in. */
  readonly key: string;
  /** The line of `known_hosts` that is right. */
  readonly knownHost: string;
  stop(): Promise<void>;
}

export type SftpOrReason =
  | { readonly start: () => Promise<SftpServer>; readonly reason?: undefined }
  | { readonly reason: string; readonly start?: undefined };

/** Throws instead where `HEADGATE_REQUIRE_SERVERS` asks for it. */
export function sftpOrReason(): SftpOrReason {
  const program = ['/usr/sbin/sshd', '/usr/bin/sshd'].find((path) => existsSync(path));
  if (program !== undefined) return { start: () => startSftp(program) };
  const reason = 'no SFTP server: install openssh-server';
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('sftp'))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names sftp, but there is ${reason}`);
  return { reason };
}

export function makeKey(path: string, passphrase = ''): void {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-f', path]);
}

async function startSftp(program: string): Promise<SftpServer> {
  const [port, folder] = [await freePort(), await serverFolder('sftp')];
  const at = (name: string): string => join(folder, name);
  makeKey(at('host'));
  makeKey(at('user'));
  mkdirSync(at('files'));
  // Where root starts it.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  writeFileSync(
    at('config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${at('host')}`,
      `PidFile ${at('pid')}`,
      `AuthorizedKeysFile ${at('user.pub')}`,
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'MaxStartups 100',
      'UseDNS no',
      'KexAlgorithms curve25519-sha256',
      'Subsystem sftp internal-sftp',
    ].join('\n'),
  );
  const server = await startServer({
    argv: [program, '-D', '-e', '-f', at('config')],
    port,
    folder,
    hasProcessPerConnection: true,
    survives: ['SIGTERM', 'SIGKILL'],
    isReady: () => greeting(port),
  });
  const [type, key] = readFileSync(at('host.pub'), 'utf8').split(' ');
  return {
    port,
    folder,
    files: at('files'),
    username: userInfo().username,
    key: at('user'),
    knownHost: `[127.0.0.1]:${port} ${type} ${key}\n`,
    stop: () => server.stop(),
  };
}

function greeting(port: number): Promise<void> {
  return new Promise((done, fail) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      done();
    });
    socket.once('error', fail).once('close', () => fail(new Error('it closed the connection')));
  });
}
