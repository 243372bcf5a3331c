/** Entry of a thread that works on pages of a row (`engine/threads/stage-threads.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadSetup } from './engine/threads/messages.ts';
import { serveStages } from './engine/threads/stage-thread.ts';
import { assert } from './lib/errors.ts';
import { TRANSFORMS } from './transforms/index.ts';

assert(parentPort !== null, 'this module is started as a thread');
void serveStages(parentPort, workerData as ThreadSetup, TRANSFORMS);
