/** Addresses that something listens on: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`. */
import { messageOf } from '../errors.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Undefined when it is none. */
export function listenAddress(written: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(written);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the port needs more rights',
  EADDRNOTAVAIL: 'this machine does not have the address',
  ENOTFOUND: 'there is no such host',
};

/** Why nothing can listen there. `cause` is absent where it would only repeat the reason. */
export function listenFault(error: NodeJS.ErrnoException): {
  readonly reason: string;
  readonly cause?: unknown;
} {
  const known = REASONS[error.code ?? ''];
  return known === undefined ? { reason: messageOf(error), cause: error } : { reason: known };
}
