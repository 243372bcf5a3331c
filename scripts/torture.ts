/**
 * `npm run torture -- --minutes N --seed N`: servers of a cluster under faults for as long as wanted.
 * The seed decides what happens when; what runs then do in between is never the same twice.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isInteger(seed) || seed < 0) {
  process.stderr.write('usage: npm run torture -- [--minutes N] [--seed N]\n');
  process.exit(2);
}
process.stdout.write(`torture: ${minutes} minutes, seed ${seed}\n`);
const root = join(import.meta.dirname, '..');
const { status } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project',
    'long',
    'test/cluster/torture.long.test.ts',
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      HEADGATE_TORTURE_MINUTES: String(minutes),
      HEADGATE_TORTURE_SEED: String(seed),
    },
  },
);
process.exit(status ?? 1);
