/** How events leave: one at a time to a collector or a topic, or as lines of a file. */
import { appendFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { LineageTransport } from '../../blocks/lineage/schema.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { LEFT_ALONE, type Outages } from '../../lib/outages.ts';
import { splitLogin } from '../../lib/http/outgoing-request.ts';

export interface LineageMessage {
  /** Of the invocation: its events keep their order. */
  readonly runId: string;
  /** The event as JSON. */
  readonly text: string;
}

export interface Transport {
  /** How long an event may still take after its run has ended. */
  readonly graceMs: number;
  /** Rejects when the event did not arrive; the message holds no secret. */
  send(event: LineageMessage, signal: AbortSignal): Promise<void>;
  /** After the last event. Never throws. */
  close(): Promise<void>;
}

const FILE_GRACE_MS = 10_000;

export type TransportEnv = Pick<Env, 'clock' | 'cwd' | 'fetch' | 'redactor'>;

type HttpConfig = Extract<LineageTransport, { readonly type: 'http' }>['config'];

export function httpTransport(
  { url: address, timeout_secs: timeoutSecs, auth }: HttpConfig,
  env: TransportEnv,
  outages: Outages,
): Transport {
  if (auth !== undefined) env.redactor.register(auth.config.token);
  const { url, headers } = requestTo(address, auth?.config.token);
  const graceMs = timeoutSecs * 1000;
  return {
    graceMs,
    async send({ text: body }, signal) {
      if (outages.isLeftAlone(url.href))
        throw new Error(`the collector was not asked: ${LEFT_ALONE}`);
      const from = env.clock.elapsedMs();
      const both = AbortSignal.any([signal, AbortSignal.timeout(graceMs)]);
      const response = await env
        .fetch(url, { method: 'POST', headers, body, signal: both, redirect: 'error' })
        .catch((error: unknown) => {
          outages.failed(url.href, from);
          throw new Error(whyNot(error, both));
        });
      await response.body?.cancel();
      if (response.ok) return;
      outages.failed(url.href, from);
      throw new Error(`the collector answered ${response.status}`);
    },
    async close() {},
  };
}

/** An address may hold a login; a token counts more. */
export function requestTo(
  address: string,
  token: string | undefined,
): { readonly url: URL; readonly headers: Record<string, string> } {
  const { url, authorization } = splitLogin(address);
  const login = token === undefined ? authorization : `Bearer ${token}`;
  return {
    url,
    headers: {
      'content-type': 'application/json',
      ...(login === undefined ? {} : { authorization: login }),
    },
  };
}

function whyNot(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the collector did not answer in time';
  const cause = error instanceof Error ? error.cause : undefined;
  return `the collector cannot be reached: ${messageOf(cause ?? error)}`;
}

export function fileTransport(path: string, cwd: string): Transport {
  const file = permittedFile(resolve(cwd, path));
  return {
    graceMs: FILE_GRACE_MS,
    async send({ text }) {
      await makeFolder(dirname(file));
      await appendFile(file, `${text}\n`);
    },
    async close() {},
  };
}
