import { describe, expect, it } from 'vitest';
import { passwordIn, postgresAddress, shownAddress } from './address.ts';

describe('the address of a history in PostgreSQL', () => {
  it('names its schema, which the client is not told of, and hides its login', () => {
    const where = 'postgres://u:s%40cret@db:5433/hg?schema=one&sslmode=require';
    expect(postgresAddress(where)).toEqual({
      url: 'postgres://u:s%40cret@db:5433/hg?sslmode=require',
      schema: 'one',
    });
    expect(shownAddress(where)).toBe('db:5433/hg');
    expect(passwordIn(where)).toEqual(['s@cret']);
  });

  it.each(['postgres://u:50%off@db/hg', 'postgres://u:%ff@db/hg', 'postgres://u:p@:x/hg'])(
    'that cannot be read is refused with what to write, and without its password: %s',
    (where) => {
      expect(() => postgresAddress(where)).toThrow(
        expect.objectContaining({
          message: 'the address of the history database cannot be read',
          hint: expect.stringContaining('percent encoding') as string,
        }),
      );
      expect(() => passwordIn(where)).not.toThrow();
    },
  );

  it('takes plain names of schemas only', () => {
    expect(() => postgresAddress('postgres://db/hg?schema=a;b')).toThrow(/plain name/);
  });
});
