import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { programFile } from './lib/files/program-file.ts';

test('a signal to the process group does not end a worker that is still loading', async () => {
  const script = `
    process.argv = [process.execPath, 'worker', '0', 'runs'];
    await import(${JSON.stringify(programFile('worker'))});
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => process.exit(7), 20);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  expect(await once(child, 'exit')).toEqual([7, null]);
});
