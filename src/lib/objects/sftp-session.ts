/** One connection to an SFTP server, made again when it has ended. */
import type { Client, SFTPWrapper, Stats } from 'ssh2';
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';
import { untilAborted } from '../until-aborted.ts';
import { identifiedSocket } from './sftp-socket.ts';

export interface SftpLogin {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password?: string | undefined;
  readonly privateKey?: Buffer | undefined;
  readonly passphrase?: string | undefined;
}

/** Whether the server is the one that is meant. */
export interface HostKeys {
  /** In the order in which the server is asked for them. */
  readonly algorithms: readonly string[];
  /** Returns the reason for which the key is refused. */
  accept(key: Buffer): Promise<ConnectorError | undefined>;
}

export interface SftpSession {
  readonly sftp: SFTPWrapper;
  readonly isOpen: boolean;
  /** Rejects when the connection ends before the server has answered. */
  call<T>(signal: AbortSignal, send: (done: Answer<T>) => void): Promise<T>;
}

export type Answer<T> = (error: (Error & { code?: unknown }) | null | undefined, value: T) => void;

const CONNECT_MS = 20_000;
/** A server that says nothing for three of these is gone. */
const KEEPALIVE_MS = 15_000;

interface Connection extends SftpSession {
  readonly client: Client;
}

export class SftpConnections {
  readonly #ssh2: typeof import('ssh2');
  readonly #login: SftpLogin;
  readonly #hostKeys: () => Promise<HostKeys>;
  #current: Promise<Connection> | undefined;
  #connecting: Client | undefined;

  constructor(ssh2: typeof import('ssh2'), login: SftpLogin, hostKeys: () => Promise<HostKeys>) {
    this.#ssh2 = ssh2;
    this.#login = login;
    this.#hostKeys = hostKeys;
  }

  /** The connection at hand, or another one where it has ended. */
  async get(signal: AbortSignal): Promise<SftpSession> {
    for (;;) {
      const asked = (this.#current ??= this.#connect());
      try {
        const found = await untilAborted(asked, signal);
        if (found.isOpen) return found;
        this.#forget(asked);
      } catch (error) {
        if (!signal.aborted) this.#forget(asked);
        throw error;
      }
    }
  }

  close(): void {
    this.#current?.then(({ client }) => client.end()).catch(() => {});
    this.#current = undefined;
    this.#connecting?.destroy();
  }

  /** Others that waited for the same may have asked for another one already. */
  #forget(asked: Promise<Connection>): void {
    if (this.#current === asked) this.#current = undefined;
  }

  async #connect(): Promise<Connection> {
    const { host, port } = this.#login;
    const keys = await this.#hostKeys();
    const client = new this.#ssh2.Client();
    this.#connecting = client;
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => {});
    let refused: ConnectorError | undefined;
    let isOpen = true;
    const end = (error: unknown): void => {
      isOpen = false;
      ended.reject(refused ?? connectionError(error, `${host}:${port}`));
      client.destroy();
    };
    client.on('error', end).on('close', () => end(new Error('the server closed the connection')));
    try {
      const sock = await identifiedSocket(host, port, CONNECT_MS);
      const ready = new Promise<void>((done) => client.once('ready', () => done()));
      client.connect({
        ...optionsOf(this.#login),
        sock,
        algorithms: { serverHostKey: [...keys.algorithms] as never },
        hostVerifier: (key: Buffer, verify: (isGood: boolean) => void) => {
          keys.accept(key).then(
            (reason) => verify((refused = reason) === undefined),
            (error: unknown) => end(error),
          );
        },
      });
      await Promise.race([ready, ended.promise]);
      const opened = new Promise<SFTPWrapper>((done, fail) => {
        client.sftp((error, sftp) => (error === undefined ? done(sftp) : fail(error)));
      });
      const sftp = await Promise.race([opened, ended.promise]);
      sftp.on('error', end);
      this.#connecting = undefined;
      return {
        client,
        sftp,
        get isOpen() {
          return isOpen;
        },
        call: (signal, send) => answered(send, { signal, ended: ended.promise }),
      };
    } catch (error) {
      client.destroy();
      throw connectionError(error, `${host}:${port}`);
    }
  }
}

function optionsOf({ username, password, privateKey, passphrase }: SftpLogin) {
  return {
    username,
    ...(password === undefined ? {} : { password }),
    ...(privateKey === undefined ? {} : { privateKey }),
    ...(passphrase === undefined ? {} : { passphrase }),
    readyTimeout: CONNECT_MS,
    keepaliveInterval: KEEPALIVE_MS,
    keepaliveCountMax: 3,
  };
}

/** The client hears no signal. */
function answered<T>(
  send: (done: Answer<T>) => void,
  { signal, ended }: { readonly signal: AbortSignal; readonly ended: Promise<never> },
): Promise<T> {
  const answer = new Promise<T>((done, fail) => {
    send((error, value) => {
      if (error === undefined || error === null) done(value);
      else fail(error);
    });
  });
  return untilAborted(Promise.race([answer, ended]), signal);
}

const LOGIN_HINT = 'check `username`, and the password or the key';

function connectionError(error: unknown, address: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const { level = '' } = error as { readonly level?: string };
  const text = messageOf(error);
  const isLogin = level === 'client-authentication' || /privateKey|passphrase/i.test(text);
  const kind = isLogin ? 'auth' : level === 'client-timeout' ? 'timeout' : 'connection';
  const says = isLogin ? 'refuses the login' : 'cannot be reached';
  return new ConnectorError(kind, `the SFTP server ${address} ${says}: ${text}`, {
    cause: error,
    ...(isLogin ? { hint: LOGIN_HINT } : {}),
  });
}

export const NO_SUCH_FILE = 2;
export const FAILURE = 4;

const BY_CODE: Readonly<Record<number, readonly [ConnectorErrorKind, string]>> = {
  [NO_SUCH_FILE]: ['missing', 'it does not exist'],
  3: ['refused', 'permission denied'],
  [FAILURE]: ['refused', 'the server refuses it'],
  6: ['connection', 'the connection is not open'],
  7: ['connection', 'the connection was lost'],
  8: ['refused', 'the server does not support it'],
};

/** `failing` is what cannot be done. */
export function sftpError(error: unknown, failing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const code = codeOf(error);
  const [kind, says] = (code === undefined ? undefined : BY_CODE[code]) ?? ['connection', ''];
  const text = messageOf(error);
  const why = says === '' ? text : text === '' || text === 'Failure' ? says : `${says} (${text})`;
  return new ConnectorError(kind, `${failing}: ${why}`, { cause: error });
}

/** The status of the protocol that the server answered with. */
export function codeOf(error: unknown): number | undefined {
  const told = error instanceof ConnectorError ? error.cause : error;
  const code = (told as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'number' ? code : undefined;
}

const KIND = 0o170000;
const FOLDER = 0o040000;
const FILE = 0o100000;
const LINK = 0o120000;

export function kindOf({ mode }: Pick<Stats, 'mode'>): 'folder' | 'file' | 'link' | 'other' {
  switch (mode & KIND) {
    case FOLDER:
      return 'folder';
    case FILE:
      return 'file';
    case LINK:
      return 'link';
    default:
      return 'other';
  }
}
