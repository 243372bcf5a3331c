import { spawn } from 'node:child_process';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program as a user would and waits for its end. */
export function headgate(
  args: readonly string[],
  options: { readonly cwd: string; readonly variables?: Readonly<Record<string, string>> },
): Promise<Finished> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [LAUNCHER, ...args], {
      cwd: options.cwd,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        NO_COLOR: '1',
        ...options.variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', fail);
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
}
