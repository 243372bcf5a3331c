/**
 * Entry of the thread that brings the write-ahead log of a database into the database, whenever it
 * is asked to (`checkpointer.ts`).
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/errors.ts';

const port = parentPort;
assert(port !== null, 'this module is started as a thread');
const db = new DatabaseSync(workerData as string);
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

port.on('message', () => {
  checkpoint.get();
  port.postMessage('done');
});
