import { expect, it } from 'vitest';
import { ConfigError } from '../../../lib/errors.ts';
import type { Jobs } from '../../../runs/service/jobs.ts';
import { loadFolder } from './documents.ts';

it('problems that a worker finds stand where the file has them', async () => {
  const issue = { code: 'unknown_key', path: 'pipeline.pth', message: 'unknown key `pth`' };
  const told = new ConfigError([{ ...issue, line: 1, column: 99 }]);
  const jobs = { run: () => Promise.reject(told) } as unknown as Jobs;
  const document = {
    name: 'x',
    source: { kind: 'document', path: '/in/x.yaml' },
    tree: { schedule: {} },
    locate: (path: string) => (path === issue.path ? { line: 5, column: 7 } : undefined),
  } as const;
  await expect(loadFolder([document], { jobs, base: () => undefined })).rejects.toMatchObject({
    issues: [{ ...issue, file: '/in/x.yaml', line: 5, column: 7 }],
  });
});
