import { expect, it } from 'vitest';
import { RunPace } from './run-pace.ts';

function paceOf(slots: number) {
  let elapsed = 0;
  const pace = new RunPace({ clock: { elapsedMs: () => elapsed }, slots });
  const pass = (ms: number): void => void (elapsed += ms);
  const run = (ms: number): void => {
    const end = pace.begin();
    pass(ms);
    end();
  };
  return { pace, pass, run };
}

it('expects nothing before a run has ended', () => {
  expect(paceOf(2).pace.ahead).toBe(0);
});

it('expects as many runs as end within a tenth of a second, for each slot', () => {
  const { pace, run } = paceOf(2);
  run(25);
  expect(pace.ahead).toBe(8);
});

it('starts as many ahead as begin while two starts are recorded', () => {
  const { pace, run } = paceOf(2);
  run(10);
  expect(pace.startable).toBe(0);
  for (let n = 0; n < 100; n += 1) pace.noteStart(15);
  expect(pace.startable).toBe(5);
});

it('starts no more ahead than begin within a tenth of a second', () => {
  const { pace, run } = paceOf(2);
  run(25);
  for (let n = 0; n < 100; n += 1) pace.noteStart(5000);
  expect(pace.startable).toBe(8);
});

it('expects no more than sixteen', () => {
  const { pace, run } = paceOf(4);
  run(0);
  expect(pace.ahead).toBe(16);
});

it('expects nothing behind runs that are long', () => {
  const { pace, run } = paceOf(1);
  for (let n = 0; n < 50; n += 1) run(150);
  expect(pace.ahead).toBe(0);
});

it('expects nothing while a long run takes one of the slots, and again when it has ended', () => {
  const { pace, pass, run } = paceOf(2);
  run(25);
  const end = pace.begin();
  pass(101);
  expect(pace.ahead).toBe(0);
  end();
  expect(pace.ahead).toBeGreaterThan(0);
});

it('begins anew when it was wrong', () => {
  const { pace, run } = paceOf(2);
  run(10);
  pace.forget();
  expect(pace.ahead).toBe(0);
  run(50);
  expect(pace.ahead).toBe(4);
});
