import { expect, it } from 'vitest';
import { rest, testService } from '../../../test/support/runs.ts';

it('begins runs of a higher priority first, and of one priority those that came first', async () => {
  const service = await testService({ limits: { maxQueued: 9 } });
  await service.submit({ name: 'first', priority: 'low' });
  await rest();
  for (const priority of ['low', 'normal', undefined, 'high', null] as const)
    await service.submit({ name: String(priority), priority });
  const begun: string[] = [];
  for (let run = 0; run < 6; run += 1) {
    const { priority, name } = await service.record(service.executor.last.job.id);
    begun.push(`${name} ${priority}`);
    service.executor.last.finish();
    await rest();
  }
  expect(begun).toEqual([
    'first low',
    'high high',
    'normal undefined',
    'undefined undefined',
    'null undefined',
    'low low',
  ]);
});
