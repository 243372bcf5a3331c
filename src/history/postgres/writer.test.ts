import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Presence } from './presence.ts';
import { PostgresWriter } from './writer.ts';

it('who writes after somebody who waited in vain does not wait as long again', async () => {
  const presence = new Presence(400);
  const gone = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  // A busy machine takes its time until it knows.
  const writer = new PostgresWriter(() => sleep(300).then(() => Promise.reject(gone)), presence);
  const writing = writer.write(function* () {
    yield [];
  });
  await expect(writing).rejects.toMatchObject({ code: 'history_unavailable' });
  expect(presence.waitMs).toBeLessThan(400);
  await writer.close();
});
