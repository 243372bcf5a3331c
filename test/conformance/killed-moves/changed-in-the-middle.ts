/** A replication whose rows change when its position is taken and no row was read. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.ts';
import type { Crasher, CrashTicket, RunReport } from '../crash/crash.ts';

export async function changedInTheMiddle(
  crasher: Crasher,
  ticket: CrashTicket,
  folder: string,
  change: () => Promise<void>,
): Promise<RunReport | undefined> {
  const hold = { failpoint: 'after_phase', held: join(folder, 'held'), free: join(folder, 'free') };
  let isOver = false;
  const running = crasher.run({ ...ticket, hold }).finally(() => {
    isOver = true;
  });
  await eventually(() => {
    if (!isOver && !existsSync(hold.held)) throw new Error('it has not come there');
    return Promise.resolve();
  });
  await change();
  writeFileSync(hold.free, '');
  return running;
}
