/** What instances tell each other through the database, on a connection that does nothing else. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { CHANNEL } from './claim-statements.ts';

const RETRY_MS = 1000;
/** A connection that was cut off silently is found by asking. */
const ASK_MS = 10_000;

export type ListeningClient = ClientBase & { end(): Promise<void> };

export class Listener {
  readonly #connect: () => Promise<ListeningClient>;

  constructor(connect: () => Promise<ListeningClient>) {
    this.#connect = connect;
  }

  /** Resolves when the signal has fired and the connection is closed. Never rejects. */
  async listen(hear: (news: string) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#listenOnce(hear, signal);
      } catch {
        // Whoever listens looks by itself too, a little later.
      }
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #listenOnce(hear: (news: string) => void, signal: AbortSignal): Promise<void> {
    const client = await this.#connect();
    const broken = new AbortController();
    client.on('error', () => broken.abort());
    client.on('end', () => broken.abort());
    client.on('notification', ({ payload }) => hear(payload ?? ''));
    const over = AbortSignal.any([signal, broken.signal]);
    try {
      const { rows } = await client.query<{ name: string }>(CHANNEL);
      await client.query(`LISTEN ${rows[0]?.name ?? ''}`);
      while (!over.aborted) {
        await sleep(ASK_MS, undefined, { signal: over }).catch(() => {});
        if (!over.aborted) await client.query('SELECT 1');
      }
    } finally {
      await client.end().catch(() => {});
    }
  }
}
