import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { wasmApi } from '../../lib/wasm/wasm-api.ts';
import {
  add,
  block,
  bump,
  equal,
  functionModule,
  get,
  greater,
  I32,
  int,
  leave,
  leaveWhen,
  loop,
  multiply,
  set,
  when,
} from './wasm-code.ts';

function numbers(params: number, body: readonly unknown[]): (...args: number[]) => number {
  const locals = [I32, I32];
  const code = functionModule({
    name: 'run',
    params,
    returnsNumber: true,
    locals,
    body: body as never,
    pages: 1,
  });
  expect(wasmApi.validate(code)).toBe(true);
  return new wasmApi.Instance(new wasmApi.Module(code), {}).exports['run'] as (
    ...args: number[]
  ) => number;
}

it('constants of any size and sign are what they were', () => {
  fc.assert(fc.property(fc.integer(), (value) => numbers(0, int(value))() === value));
});

it('branches leave the block they name, however deep they stand', () => {
  const [LIMIT, SUM, AT] = [0, 1, 2];
  // Sums the squares up to the limit, without those of multiples of three.
  const run = numbers(1, [
    ...block(
      'done',
      loop(
        'again',
        when(greater(get(AT), get(LIMIT)), leave('done')),
        block(
          'counted',
          when(
            equal(multiply(get(SUM), int(0)), int(0)),
            leaveWhen('counted', isMultipleOfThree(AT)),
          ),
          bump(SUM, multiply(get(AT), get(AT))),
        ),
        bump(AT, int(1)),
        leave('again'),
      ),
    ),
    ...get(SUM),
  ]);
  expect([0, 1, 3, 10].map((limit) => run(limit))).toEqual([0, 1, 5, 385 - 9 - 36 - 81]);
});

/** By a number that turns multiples of three into small ones. */
function isMultipleOfThree(local: number): ReturnType<typeof get> {
  const third = multiply(get(local), int(-1_431_655_765));
  return greater(int(1_431_655_766), third);
}

it('locals keep what they are set to', () => {
  const run = numbers(2, [...set(2, get(1)), ...set(3, add(get(0), get(2))), ...get(3)]);
  expect(run(40, 2)).toBe(42);
});
