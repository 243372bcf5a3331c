/** delta-rs, another program that reads and writes tables of Delta Lake, for tests: a package of PyPI. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { InstalledOrReason } from './installed.ts';
import { DELTALAKE_FOLDER } from './test-servers.ts';

export interface DeltaRs {
  /** Does what the program calls so, with the table of this path; gives its answer. */
  ask(what: string, path: string, options?: JsonObject): Promise<JsonObject>;
  stop(): void;
}

const MISSING = 'no deltalake: run `node test/servers/install.ts deltalake`';

export const deltalake: InstalledOrReason<DeltaRs> = found();

function found(): InstalledOrReason<DeltaRs> {
  if (existsSync(join(DELTALAKE_FOLDER, 'deltalake'))) return { start: startDeltaRs };
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('deltalake')) throw new Error(`it is required, but there is ${MISSING}`);
  return { reason: MISSING };
}

function startDeltaRs(): Promise<DeltaRs> {
  const program = join(import.meta.dirname, 'delta-rs.py');
  const child = spawn('python3', [program], {
    env: { ...process.env, PYTHONPATH: DELTALAKE_FOLDER, TZ: 'UTC' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  const waiting: PromiseWithResolvers<JsonObject>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) =>
    waiting.shift()?.resolve(JSON.parse(line) as JsonObject),
  );
  let isOver = false;
  child.once('exit', () => {
    isOver = true;
    for (const one of waiting) one.reject(new Error(`delta-rs failed: ${said}`));
  });
  return Promise.resolve({
    ask(what, path, options = {}) {
      if (isOver) return Promise.reject(new Error(`delta-rs has ended: ${said}`));
      const answer = Promise.withResolvers<JsonObject>();
      waiting.push(answer);
      child.stdin.write(`${JSON.stringify({ ...options, do: what, path })}\n`);
      return answer.promise;
    },
    stop: () => void child.kill(),
  });
}
