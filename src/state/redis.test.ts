import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import { openState } from '../../test/fakes/open-state.ts';
import { redisState } from './redis.ts';

describe('the redis state store', () => {
  test.each([
    { url: 'postgres://h' },
    { url: 'localhost' },
    { url: 'redis://h', namespace: 'a:b' },
    { url: 'redis://h', namespace: '' },
  ])('%j is refused', (config) => {
    expect(check(redisState.config, config).ok).toBe(false);
  });

  test('the namespace is the name of the product by default', () => {
    expect(check(redisState.config, { url: 'redis://h' })).toEqual({
      ok: true,
      value: { url: 'redis://h', namespace: 'headgate' },
    });
  });

  test('a server that is not there is a connection failure without the password', async () => {
    const opening = openState(redisState, { url: 'redis://:the-password@127.0.0.1:1/0' });
    await expect(opening).rejects.toMatchObject({
      kind: 'connection',
      message: expect.not.stringContaining('the-password') as string,
    });
  });
});
