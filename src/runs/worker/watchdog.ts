import { Worker } from 'node:worker_threads';

const INTERVAL_MS = 500;

/**
 * Ends this process when its parent is gone, even while the main thread is stuck in a loop and
 * hears no event. The code is text because a thread that loads no file starts in a few milliseconds
 * and needs no build step.
 */
const CODE = `
const { workerData } = require('node:worker_threads');
setInterval(() => {
  if (process.ppid !== workerData.parent) process.kill(process.pid, 'SIGKILL');
}, workerData.intervalMs);
`;

export function watchParent(parent: number): void {
  const thread = new Worker(CODE, {
    eval: true,
    workerData: { parent, intervalMs: INTERVAL_MS },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  });
  thread.unref();
}
