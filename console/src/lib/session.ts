/**
 * Who we are to the server, and whether it answers. Everything that asks the server goes through
 * `ask`: a token that it does not take is asked for again, and the request then goes on, so that no
 * view has to know of it.
 */
import { HeadgateClient, HeadgateError, type WhoamiAnswer } from '../../../src/client/index.ts';
import { createStore } from './create-store.ts';

export type Permission = WhoamiAnswer['permissions'][number];

export interface Session {
  /** `asking`: a token is needed; `wrong`: the one that was given is not taken. */
  readonly state: 'starting' | 'asking' | 'wrong' | 'open';
  readonly identity: WhoamiAnswer | undefined;
}

/** Survives a reload of the page, and nothing else does. */
const KEY = 'headgate.token';
const AWAY_POLL_MS = 1000;

export const session = createStore<Session>({ state: 'starting', identity: undefined });
/** Whether the server answers. */
export const connected = createStore(true);

let client = clientOf(sessionStorage.getItem(KEY) ?? undefined);
let opened = Promise.withResolvers<void>();
let lookingForServer = false;

function clientOf(token: string | undefined): HeadgateClient {
  return new HeadgateClient({ server: location.origin, token });
}

export function hasToken(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

/** Finds out whether a token is needed at all. */
export async function begin(): Promise<void> {
  for (;;) {
    try {
      return await identify();
    } catch (error) {
      if (isUnauthorized(error)) return askForToken(hasToken() ? 'wrong' : 'asking');
      noteAway(error);
      await pause(AWAY_POLL_MS);
    }
  }
}

/** Tries a token that was typed; false: the server does not take it. */
export async function signIn(token: string): Promise<boolean> {
  const tried = clientOf(token);
  const before = client;
  client = tried;
  try {
    await identify();
    sessionStorage.setItem(KEY, token);
    return true;
  } catch (error) {
    client = before;
    if (isUnauthorized(error)) return false;
    throw error;
  }
}

export function signOut(): void {
  sessionStorage.removeItem(KEY);
  location.reload();
}

async function identify(): Promise<void> {
  const { data } = await client.routes.GET('/v1/whoami');
  connected.set(true);
  session.set({ state: 'open', identity: data });
  opened.resolve();
}

function askForToken(state: 'asking' | 'wrong'): void {
  if (session.get().state === 'open') opened = Promise.withResolvers<void>();
  session.set({ ...session.get(), state });
}

/** What the server gives; waits for a token where one is needed. */
export async function ask<T>(
  question: (client: HeadgateClient) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (;;) {
    await opened.promise;
    signal?.throwIfAborted();
    try {
      const answer = await question(client);
      connected.set(true);
      return answer;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isUnauthorized(error)) {
        noteAway(error);
        throw error;
      }
      askForToken(hasToken() ? 'wrong' : 'asking');
    }
  }
}

export function may(permission: Permission): boolean {
  return session.get().identity?.permissions.includes(permission) ?? false;
}

function noteAway(error: unknown): void {
  if (!isAway(error)) return;
  connected.set(false);
  if (!lookingForServer) void lookForServer();
}

/** Asks for nothing that costs the server anything. */
async function lookForServer(): Promise<void> {
  lookingForServer = true;
  while (!connected.get()) {
    await pause(AWAY_POLL_MS);
    const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined);
    if (answer?.ok === true) connected.set(true);
  }
  lookingForServer = false;
}

/** Also behind a proxy that says so. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof HeadgateError)) return false;
  return error.code === 'unreachable' || [502, 503, 504].includes(error.status ?? 0);
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof HeadgateError && error.status === 401;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
