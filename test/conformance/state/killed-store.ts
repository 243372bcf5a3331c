/** A process that puts values into a store, hangs, and is killed. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../../src/lib/text/json.ts';

export interface StoreTask {
  readonly type: string;
  readonly config: JsonObject;
  readonly put: JsonObject;
  readonly remove: readonly string[];
}

const ENTRY = fileURLToPath(new URL('killed-store-process.ts', import.meta.url));

export async function putAndKill(task: StoreTask): Promise<void> {
  const child = fork(ENTRY, [JSON.stringify(task)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let errors = '';
  child.stderr?.on('data', (bytes: Buffer) => (errors += bytes.toString()));
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = await Promise.race([
    new Promise<unknown>((resolve) => child.once('message', resolve)),
    closed.then(() => 'ended'),
  ]);
  child.kill('SIGKILL');
  await closed;
  if (end !== 'done') throw new Error(`the process could not use the store: ${errors}`);
}
