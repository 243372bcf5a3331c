/** A server process to measure, and what the moves ask of it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ask, headgate, program } from './move.ts';
import type { Command } from './process.ts';

export interface Service {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** `headgate serve` with a durable history of its own in the folder. */
export async function startHeadgate(
  folder: string,
  ...options: readonly string[]
): Promise<Service & { readonly dataFolder: string }> {
  const data = await mkdtemp(join(folder, 'serve-'));
  const command = headgate(
    'serve',
    '--no-auth',
    '--listen',
    '127.0.0.1:0',
    '--data-dir',
    data,
    '--shutdown-grace-secs',
    '1',
    ...options,
  );
  const service = await startService({ ...command, cwd: folder, env: { HEADGATE_LOG: 'error' } });
  return {
    url: service.url,
    pid: service.pid,
    dataFolder: data,
    async stop() {
      await service.stop();
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** A program that says `listens on URL` when it does. */
export async function startService({ argv, cwd, env }: Command): Promise<Service> {
  const [file = '', ...args] = argv;
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { url: await addressOf(child), pid: child.pid ?? 0, stop: () => end(child) };
}

function addressOf(child: ChildProcess): Promise<string> {
  let text = '';
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const look = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-4000);
    // eslint-disable-next-line no-control-regex
    const url = /listens on (?:\u001B\[\d+m)*(http:[^\s\u001B]+)/.exec(text)?.[1];
    if (url !== undefined) resolve(url);
  };
  child.stdout?.on('data', look);
  child.stderr?.on('data', look);
  child.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${text}`)));
  return promise;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

export interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly statuses: Readonly<Record<string, number>>;
}

export interface LoadRequest {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** File with a JSON body; a GET without one. */
  readonly bodyFile?: string;
  readonly everyMs?: number;
  readonly expectedStatus: string;
}

/**
 * From a process of its own, so that measuring does not slow down what is measured more than a
 * client would.
 */
export async function load({
  url,
  seconds,
  connections,
  bodyFile,
  everyMs,
  expectedStatus,
}: LoadRequest): Promise<Load> {
  const args = [url, String(seconds), String(connections), bodyFile ?? '', String(everyMs ?? 0)];
  const result = (await ask(program('http-load', ...args))) as Load;
  const others = Object.keys(result.statuses).filter((status) => status !== expectedStatus);
  if (others.length > 0)
    throw new Error(
      `${url} was to answer ${expectedStatus}, but answered ${JSON.stringify(result.statuses)}`,
    );
  return result;
}

export async function submit(url: string, config: string): Promise<string> {
  const response = await fetch(`${url}/v1/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ config }),
  });
  const text = await response.text();
  if (response.status !== 202)
    throw new Error(`a submission was answered with ${response.status}: ${text}`);
  return (JSON.parse(text) as { run_id: string }).run_id;
}

/** Number of runs with one of the statuses, at most 500. */
export async function countRuns(url: string, statuses: string, limit = 500): Promise<number> {
  const response = await fetch(`${url}/v1/runs?status=${statuses}&limit=${limit}`);
  const page = (await response.json()) as { runs?: unknown[]; items?: unknown[] };
  return (page.runs ?? page.items ?? []).length;
}

export async function untilIdle(url: string, pollMs: number): Promise<void> {
  while ((await countRuns(url, 'queued,running', 1)) > 0) await pause(pollMs);
}

export async function statusOf(url: string, id: string): Promise<string> {
  const response = await fetch(`${url}/v1/runs/${id}`);
  return ((await response.json()) as { status: string }).status;
}
