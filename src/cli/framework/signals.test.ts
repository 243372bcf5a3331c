import { expect, it } from 'vitest';
import { StopReason } from '../../lib/errors.ts';
import { listenForStop } from './signals.ts';
import { testWorld } from '../../../test/support/cli.ts';

it('asks to stop at the first signal and ends the process at the second', () => {
  const world = testWorld();
  const announced: string[] = [];
  using stops = listenForStop(world, 'cancel', (signal) => announced.push(signal));
  expect(stops.signal.aborted).toBe(false);
  world.send('SIGINT', 10);
  expect(stops.signal.reason).toBeInstanceOf(StopReason);
  expect(stops.signal.reason).toMatchObject({ why: 'cancel' });
  expect(announced).toEqual(['SIGINT']);
  expect(stops.received()).toBe('SIGINT');
  expect(world.exits).toEqual([]);
  world.send('SIGTERM', 1000);
  expect(world.exits).toEqual([143]);
  expect(announced).toEqual(['SIGINT']);
});

it('takes the echo of a launcher for the same request', () => {
  const world = testWorld();
  using stops = listenForStop(world, 'shutdown', () => {});
  world.send('SIGTERM', 0);
  world.send('SIGTERM', 5);
  expect(world.exits).toEqual([]);
  expect(stops.received()).toBe('SIGTERM');
});

it('hears nothing after it was disposed', () => {
  const world = testWorld();
  const stops = listenForStop(world, 'cancel', () => {});
  stops[Symbol.dispose]();
  world.send('SIGINT', 0);
  expect(stops.signal.aborted).toBe(false);
});
