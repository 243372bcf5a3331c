/** What a move is: something the program does, with what it is measured against. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launcherPath, type Build } from './build.ts';
import type { Database } from './database.ts';
import { ROOT } from './machine.ts';
import type { Command } from './process.ts';
import type { Figure, Role } from './result.ts';

export interface Bench {
  readonly rows: number;
  readonly runs: number;
  readonly build: Build;
  /** Data and outputs, on one file system. */
  readonly folder: string;
  /** PostgreSQL with the table `people`; started by the first move that asks. */
  database(): Promise<Database>;
  /** For servers that a move starts: called when all moves have ended. */
  atEnd(stop: () => Promise<unknown>): void;
  say(text: string): void;
}

export interface Side {
  readonly name: string;
  readonly command: Command;
  /** Puts the destination into the state every run begins with; not timed. */
  prepare?(): Promise<void>;
  /** Throws when the output is not exactly what it must be; not timed. */
  verify(): Promise<void>;
  /** What `verify` compares, for the report. */
  readonly verified: string;
}

export interface Contest {
  /** Records the subject reads. */
  readonly rows: number;
  readonly subject: Side;
  readonly others: readonly (Side & {
    readonly role: Exclude<Role, 'subject' | 'control'>;
    readonly target?: number;
  })[];
}

interface Named {
  readonly name: string;
  readonly title: string;
}

export type Move = Named &
  (
    | { readonly kind: 'processes'; contest(bench: Bench): Promise<Contest> }
    | {
        readonly kind: 'service';
        readonly how: string;
        measure(bench: Bench): Promise<readonly Figure[]>;
      }
  );

const run = promisify(execFile);

/** The program as a user starts it. */
export function headgate(...args: readonly string[]): Command {
  return { argv: [process.execPath, launcherPath(), ...args] };
}

/** `headgate run` of a document, written to the folder of the bench and run there. */
// oxlint-disable-next-line max-params
export function headgateRun(
  folder: string,
  name: string,
  document: string,
  ...options: readonly string[]
): Command {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, document);
  return { ...headgate('run', path, ...options), cwd: folder };
}

export function program(name: string, ...args: readonly string[]): Command {
  return { argv: [process.execPath, join(ROOT, 'bench/programs', `${name}.ts`), ...args] };
}

/** A document of one pipeline; `more` is what it has besides, one member a line. */
export function pipelineDocument(name: string, parts: PipelineParts): string {
  const { source, sink, more = '' } = parts;
  return `version: 1\nname: ${name}\npipeline:\n  source: ${source}\n  sink: ${sink}\n${more}`;
}

export interface PipelineParts {
  readonly source: string;
  readonly sink: string;
  readonly more?: string;
}

/** Runs a program and reads the JSON it prints. */
export async function ask(command: Command): Promise<unknown> {
  const [file = '', ...args] = command.argv;
  const { stdout } = await run(file, args, { cwd: command.cwd, maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}
