/**
 * Runs a command as a whole process and measures it from outside, with nothing but a shell and
 * `/proc`: wall time around the spawn, CPU time of the process and everything it waited for (the
 * shell's own account of its children), and the peak of resident memory (the kernel's high-water
 * mark of each process, read every few milliseconds; it only grows, so just the last moments can be
 * missed).
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';

export interface Command {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Usage {
  readonly wallMs: number;
  /** User and system; null where the system has no `/proc`. */
  readonly cpuMs: number | null;
  /** Sum over the processes of the command; null where the system has no `/proc`. */
  readonly peakRssBytes: number | null;
}

const SAMPLE_MS = 10;
/** What `/proc` counts time in; 100 on every Linux that Node runs on. */
const TICKS_A_SECOND = 100;
/** Places of processor time behind the command name: own and of waited-for children, user and system. */
const [USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM] = [11, 12, 13, 14];
const OUTPUT_TAIL = 4000;
const HAS_PROC = existsSync('/proc/self/stat');
const SCRIPT = HAS_PROC
  ? '"$@" 3>&-; code=$?; IFS= read -r stat </proc/$$/stat; echo "$stat" >&3; exit $code'
  : '"$@"';

export async function measure(command: Command): Promise<Usage> {
  const begun = performance.now();
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', ...command.argv], {
    cwd: command.cwd,
    env: { ...process.env, ...command.env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const memory = watchMemory(child.pid);
  const output = tail([child.stdout, child.stderr]);
  const account = tail([child.stdio[3] as Readable]);
  const ended = Promise.withResolvers<number>();
  child.on('error', ended.reject);
  child.on('exit', () => memory.stop());
  let wallMs = Number.NaN;
  child.on('exit', () => (wallMs = performance.now() - begun));
  child.on('close', (code) => ended.resolve(code ?? 1));
  const code = await ended.promise;
  if (code !== 0) throw new Error(`${command.argv.join(' ')}\nended with ${code}:\n${output()}`);
  return {
    wallMs,
    cpuMs: HAS_PROC ? cpuOf(account()) : null,
    peakRssBytes: HAS_PROC ? memory.peak() : null,
  };
}

function tail(streams: readonly (Readable | null)[]): () => string {
  let text = '';
  for (const stream of streams)
    stream?.on('data', (chunk: Buffer) => (text = (text + chunk.toString()).slice(-OUTPUT_TAIL)));
  return () => text;
}

function cpuOf(stat: string, places = [CHILDREN_USER, CHILDREN_SYSTEM]): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = places.reduce((sum, place) => sum + Number(fields[place] ?? 0), 0);
  return (ticks * 1000) / TICKS_A_SECOND;
}

/** Of a running process, everything below it, and what has ended below it; not a number without `/proc`. */
export function cpuMsOfTree(pid: number): number {
  if (!HAS_PROC) return Number.NaN;
  const all = [USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM];
  return [pid, ...descendants(pid)]
    .map((one) => cpuOf(readProc(`/proc/${one}/stat`), all))
    .reduce((sum, ms) => sum + ms, 0);
}

export interface MemoryWatch {
  /** Of everything below the watched process, itself not counted. */
  peak(): number;
  stop(): void;
}

export function watchMemory(pid: number | undefined): MemoryWatch {
  const peaks = new Map<number, number>();
  const look = (): void => {
    for (const below of pid === undefined ? [] : descendants(pid))
      peaks.set(below, Math.max(peaks.get(below) ?? 0, highWater(below)));
  };
  const timer = HAS_PROC ? setInterval(look, SAMPLE_MS) : undefined;
  return {
    peak: () => [...peaks.values()].reduce((sum, bytes) => sum + bytes, 0),
    stop: () => clearInterval(timer),
  };
}

function descendants(pid: number): number[] {
  const children = readProc(`/proc/${pid}/task/${pid}/children`)
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function highWater(pid: number): number {
  const kilobytes = /^VmHWM:\s*(\d+) kB/m.exec(readProc(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** A process may end between two looks. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
