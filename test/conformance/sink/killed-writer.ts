/** A process that writes with a sink, says when it is through, hangs, and is killed. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { JsonObject, JsonValue } from '../../../src/lib/text/json.ts';
import { parseJson, stringifyJson } from '../../../src/lib/text/json.ts';
import type { Destination } from './fixture.ts';

/** What the process does with its sink, in this order. */
export type WriterStep =
  | { readonly do: 'write' | 'hold'; readonly records: readonly JsonObject[] }
  | { readonly do: 'flush' }
  | {
      readonly do: 'token';
      readonly records: readonly JsonObject[];
      readonly scope: string;
      readonly token: string;
    };

export interface WriterTask {
  readonly type: string;
  readonly config: JsonObject;
  readonly steps: readonly WriterStep[];
}

const ENTRY = fileURLToPath(new URL('killed-writer-process.ts', import.meta.url));

export function encodeTask(task: WriterTask): string {
  return stringifyJson(task as unknown as JsonValue);
}

export function decodeTask(text: string): WriterTask {
  return parseJson(text) as unknown as WriterTask;
}

/** Resolves when the process has done all steps and was killed with SIGKILL after them. */
export async function writeAndKill(task: WriterTask, to: Destination): Promise<void> {
  const child = fork(ENTRY, [encodeTask(task)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let errors = '';
  child.stdout?.on('data', (bytes: Buffer) => to.printed?.(bytes));
  child.stderr?.on('data', (bytes: Buffer) => {
    errors += bytes.toString();
    to.printed?.(bytes);
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = await Promise.race([
    new Promise<unknown>((resolve) => child.once('message', resolve)),
    closed.then(() => 'ended'),
  ]);
  child.kill('SIGKILL');
  await closed;
  if (end !== 'done')
    throw new Error(`the writing process did not do its steps: ${String(end)} ${errors}`);
}
