/** The address of the server. */
import { AppError } from '../../lib/errors.ts';
import { listenAddress, listenFault, type ListenAddress } from '../../lib/http/listen-address.ts';

export const DEFAULT_LISTEN = '127.0.0.1:8080';

export function parseListen(written: string): ListenAddress {
  const address = listenAddress(written);
  if (address !== undefined) return address;
  throw new AppError('bad_option', `--listen ${JSON.stringify(written)} is not an address`, {
    hint: 'write host:port, for example 127.0.0.1:8080 or [::1]:8080',
  });
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

export function cannotListen(
  { host, port }: ListenAddress,
  error: NodeJS.ErrnoException,
): AppError {
  const { reason, ...cause } = listenFault(error);
  return new AppError('cannot_listen', `cannot listen on ${host}:${port}: ${reason}`, {
    hint: 'choose another address with --listen',
    ...cause,
  });
}
