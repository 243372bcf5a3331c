/** Programs in Python that answer lines of JSON with lines of JSON; their packages are of PyPI. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { parseJson } from '../../src/lib/text/json.ts';
import type { InstalledOrReason } from './installed.ts';

export interface PythonProgram {
  /** Does what the program calls so, with the table of this path; gives its answer. */
  ask(what: string, path: string, options?: JsonObject): Promise<JsonObject>;
  stop(): void;
}

interface Installed {
  /** As `install.ts` calls it, which is the name of its package, too. */
  readonly name: string;
  /** Where its packages are. */
  readonly folder: string;
  readonly program: string;
}

/** Throws instead of a reason where `HEADGATE_REQUIRE_SERVERS` names it. */
export function pythonProgram(installed: Installed): InstalledOrReason<PythonProgram> {
  const { name, folder } = installed;
  if (existsSync(join(folder, name))) return { start: () => start(installed) };
  const reason = `no ${name}: run \`node test/servers/install.ts ${name}\``;
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes(name)) throw new Error(`it is required, but there is ${reason}`);
  return { reason };
}

function start({ name, folder, program }: Installed): Promise<PythonProgram> {
  const child = spawn('python3', [join(import.meta.dirname, program)], {
    env: { ...process.env, PYTHONPATH: folder, TZ: 'UTC' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  const waiting: PromiseWithResolvers<JsonObject>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    // `null` where there is nothing to say.
    const answer = (parseJson(line) ?? {}) as JsonObject;
    const asked = waiting.shift();
    if (typeof answer['failed'] === 'string') asked?.reject(new Error(answer['failed']));
    else asked?.resolve(answer);
  });
  let isOver = false;
  child.once('exit', () => {
    isOver = true;
    for (const one of waiting) one.reject(new Error(`${name} failed: ${said}`));
  });
  return Promise.resolve({
    ask(what, path, options = {}) {
      if (isOver) return Promise.reject(new Error(`${name} has ended: ${said}`));
      const answer = Promise.withResolvers<JsonObject>();
      waiting.push(answer);
      child.stdin.write(`${JSON.stringify({ ...options, do: what, path })}\n`);
      return answer.promise;
    },
    stop: () => void child.kill(),
  });
}
