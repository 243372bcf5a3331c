import { expect, test } from 'vitest';
import { mysqlError } from './mysql-errors.ts';

test('a server that says nothing may be another program', () => {
  const error = Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' });
  expect(mysqlError(error, 'connection failed')).toMatchObject({
    kind: 'timeout',
    hint: expect.stringContaining('may be no MySQL server') as string,
  });
});
