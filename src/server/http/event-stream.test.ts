import { expect, test } from 'vitest';
import { eventText, keepAlive } from './event-stream.ts';
import { fakeClock } from '../../../test/support/server.ts';

test('an event is its name, its data line by line, and a blank line', () => {
  expect(eventText('log', 'one')).toBe('event: log\ndata: one\n\n');
  expect(eventText('log', 'one\r\ntwo\rthree\nid: 4')).toBe(
    'event: log\ndata: one\ndata: two\ndata: three\ndata: id: 4\n\n',
  );
});

/** A source that gives what is pushed, and notes when it is let go. */
function pushed() {
  const waiting: ((result: IteratorResult<string>) => void)[] = [];
  const state = { returned: false };
  const source: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((resolve) => waiting.push(resolve)),
      return: async () => {
        state.returned = true;
        return { done: true, value: undefined };
      },
    }),
  };
  return {
    source,
    state,
    push: (value: string) => waiting.shift()?.({ done: false, value }),
    end: () => waiting.shift()?.({ done: true, value: undefined }),
  };
}

test('a comment goes into every silence and texts pass in order', async () => {
  const clock = fakeClock();
  const { source, state, push, end } = pushed();
  const out = keepAlive(source, clock, new AbortController().signal);
  const first = out.next();
  clock.wake();
  expect((await first).value).toBe(': keep-alive\n\n');
  const second = out.next();
  push('a');
  expect((await second).value).toBe('a');
  const third = out.next();
  push('b');
  expect((await third).value).toBe('b');
  const last = out.next();
  end();
  expect((await last).done).toBe(true);
  expect(state.returned).toBe(true);
  expect(clock.sleeping).toBe(0);
});

test('the stream ends when its signal fires, though the source says nothing', async () => {
  const clock = fakeClock();
  const { source, state } = pushed();
  const gone = new AbortController();
  const out = keepAlive(source, clock, gone.signal);
  const pending = out.next();
  gone.abort();
  expect(await pending).toEqual({ done: true, value: undefined });
  expect(state.returned).toBe(true);
  expect(clock.sleeping).toBe(0);
});

test('a failing source fails the stream', async () => {
  const failing = (async function* (): AsyncGenerator<string> {
    yield 'a';
    throw new Error('the ring is gone');
  })();
  const out = keepAlive(failing, fakeClock(), new AbortController().signal);
  expect((await out.next()).value).toBe('a');
  await expect(out.next()).rejects.toThrow('the ring is gone');
});
