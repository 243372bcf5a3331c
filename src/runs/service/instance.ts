/** Who this process is among those that share a history, and whether another one still lives. */
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Instance } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';

export interface ProcessIdentity {
  /** Machine, its boot, and process namespace: only equal ones share pids. */
  readonly host: string;
  readonly pid: number;
  /** Tells a process from a later one with the same pid; null where the system does not say. */
  readonly pid_started: string | null;
}

export function thisProcess(): ProcessIdentity {
  const host = [
    hostname(),
    readQuietly('/proc/sys/kernel/random/boot_id'),
    linkQuietly('/proc/self/ns/pid'),
  ].filter((part) => part !== null);
  return { host: host.join(' '), pid: process.pid, pid_started: startOf(process.pid) };
}

/** This process as a server that begins now. */
export function newInstance(
  { clock }: Pick<Env, 'clock'>,
  { listen, maxConcurrent }: NewInstance,
): Instance {
  const now = clock.now().toISOString();
  return {
    instance_id: randomUUID(),
    ...thisProcess(),
    listen: listen ?? null,
    started_at: now,
    seen_at: now,
    max_concurrent: maxConcurrent,
    in_flight: 0,
  };
}

interface NewInstance {
  readonly listen?: string | undefined;
  readonly maxConcurrent: number;
}

/**
 * False only when it is certain that the process has ended. Ask for processes of this host only.
 */
export function mayBeAlive(other: Pick<ProcessIdentity, 'pid' | 'pid_started'>): boolean {
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
  const started = startOf(other.pid);
  return started === null || other.pid_started === null || started === other.pid_started;
}

/**
 * Ticks from boot to the start of the process (field 22 of its stat line); the name before it may
 * hold spaces and parentheses.
 */
function startOf(pid: number): string | null {
  const stat = readQuietly(`/proc/${pid}/stat`);
  if (stat === null) return null;
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

function readQuietly(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

function linkQuietly(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
