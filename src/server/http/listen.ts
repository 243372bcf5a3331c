/** Addresses a server listens on: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`. */
import { AppError, messageOf } from '../../lib/errors.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export const DEFAULT_LISTEN = '127.0.0.1:8080';

export function parseListen(written: string): ListenAddress {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(written);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    throw new AppError('bad_option', `--listen ${JSON.stringify(written)} is not an address`, {
      hint: 'write host:port, for example 127.0.0.1:8080 or [::1]:8080',
    });
  }
  return { host, port };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the port needs more rights',
  EADDRNOTAVAIL: 'this machine does not have the address',
  ENOTFOUND: 'there is no such host',
};

export function cannotListen(
  { host, port }: ListenAddress,
  error: NodeJS.ErrnoException,
): AppError {
  const known = REASONS[error.code ?? ''];
  return new AppError(
    'cannot_listen',
    `cannot listen on ${host}:${port}: ${known ?? messageOf(error)}`,
    {
      hint: 'choose another address with --listen',
      // A known reason is complete; the message of the system would only repeat it.
      ...(known === undefined ? { cause: error } : {}),
    },
  );
}
