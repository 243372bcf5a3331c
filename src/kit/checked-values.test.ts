import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { stillClock } from '../../test/fakes/clock.ts';
import { CheckedValues } from './checked-values.ts';
import { integer } from './schema.ts';

const schemaOf = () => z.strictObject({ size: integer({ max: 9 }), name: z.string().optional() });

/** Checks a value so often, and tells how often its schema had to look at it. */
function looksAt(value: unknown, times: number, checked = new CheckedValues(stillClock())): number {
  const schema = schemaOf();
  const parse = vi.spyOn(schema, 'safeParse');
  for (let time = 0; time < times; time += 1) checked.check(schema, value);
  return parse.mock.calls.length;
}

describe('values that were checked before', () => {
  it('are not looked at again, from their third time on', () => {
    expect([1, 2, 3, 9].map((times) => looksAt({ size: '3' }, times))).toEqual([1, 2, 2, 2]);
  });

  it('give what they gave, also when they are spelled as others are under another schema', () => {
    const checked = new CheckedValues(stillClock());
    const [one, other] = [schemaOf(), z.strictObject({ size: z.string() })];
    for (let time = 0; time < 3; time += 1) {
      expect(checked.check(one, { size: '3' })).toEqual({ ok: true, value: { size: 3 } });
      expect(checked.check(other, { size: '3' })).toEqual({ ok: true, value: { size: '3' } });
      expect(checked.check(one, { size: '4' })).toEqual({ ok: true, value: { size: 4 } });
    }
  });

  it('that do not fit are reported each time with their place', () => {
    const checked = new CheckedValues(stillClock());
    const schema = schemaOf();
    for (const path of ['a', 'b', 'c']) {
      expect(checked.check(schema, { size: 10 }, path)).toMatchObject({
        ok: false,
        issues: [{ path: `${path}.size` }],
      });
    }
  });

  it('that are long, or hold what JSON has no text for, are looked at each time', () => {
    expect(looksAt({ size: 1, name: 'x'.repeat(20_000) }, 4)).toBe(4);
    const schema = z.strictObject({ size: z.bigint() });
    const checked = new CheckedValues(stillClock());
    const parse = vi.spyOn(schema, 'safeParse');
    for (let time = 0; time < 4; time += 1)
      expect(checked.check(schema, { size: 2n ** 70n })).toMatchObject({ ok: true });
    expect(parse).toHaveBeenCalledTimes(4);
  });
});
