/** A process that writes with a sink, says when it is through, hangs, and is killed. */
import { fork } from 'node:child_process';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, SinkDefinition } from '../../kit/sink.ts';
import { parseJson, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { sinkContext } from '../contexts.ts';
import type { Destination } from '../../kit/sink-fixture.ts';
import type { WriterProgram } from './tools.ts';

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

function encodeTask(task: WriterTask): string {
  return stringifyJson(task as unknown as JsonValue);
}

export function decodeTask(text: string): WriterTask {
  return parseJson(text) as unknown as WriterTask;
}

/** Resolves when the process has done all steps and was killed with SIGKILL after them. */
export async function writeAndKill(
  { entry, words }: WriterProgram,
  { task, to }: { readonly task: WriterTask; readonly to: Destination },
): Promise<void> {
  const child = fork(entry, [...words, encodeTask(task)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
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

/** The work of the program: what the task says, then nothing more until it is killed. */
export async function takeSteps(
  { config, steps }: Pick<WriterTask, 'config' | 'steps'>,
  definition: SinkDefinition,
): Promise<void> {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await definition.open(checked.value, sinkContext());
  for (const step of steps) await take(sink, step);
  // Hangs: only the signal ends it, and nothing is closed.
  setInterval(() => {}, 60_000);
  process.send?.('done');
}

async function take(to: Sink, step: WriterStep): Promise<void> {
  switch (step.do) {
    case 'write':
      return void (await to.write(Page.ofRecords(step.records), { partial: false }));
    case 'hold':
      return to.tokens?.hold(Page.ofRecords(step.records));
    case 'flush':
      return to.flush();
    case 'token':
      return void (await to.tokens?.write(Page.ofRecords(step.records), step.scope, step.token));
    default:
      step satisfies never;
  }
}
