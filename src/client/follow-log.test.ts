import { expect, test } from 'vitest';
import { HeadgateError } from './errors.ts';
import { followLog, type LogEvent } from './follow-log.ts';

/** Answers of a server, one after the other; each a text of events that then breaks off. */
function server(...answers: (string | Response | Error)[]) {
  const asked: (string | undefined)[] = [];
  const ask = (init: RequestInit): Promise<Response> => {
    asked.push((init.headers as Record<string, string>)['last-event-id']);
    const answer = answers.shift() ?? new Response(null, { status: 204 });
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(typeof answer === 'string' ? new Response(answer) : answer);
  };
  return { ask, asked };
}

const line = (seq: number): string => `id: ${seq}\nevent: log\ndata: line ${seq}\n\n`;

async function all(events: AsyncIterable<LogEvent>): Promise<LogEvent[]> {
  const found: LogEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const numbers = (events: readonly LogEvent[]): (number | string)[] =>
  events.map((event) => (event.type === 'line' ? event.seq : event.message));

test('ends with the run', async () => {
  const { ask } = server(`${line(0)}: a comment\n\n${line(1)}event: end\ndata: done\n\n${line(2)}`);
  expect(numbers(await all(followLog(ask, {})))).toEqual([0, 1]);
});

test('goes on behind the last line when the connection breaks, and ends when nothing follows', async () => {
  const { ask, asked } = server(line(0) + line(1), new TypeError('reset'), line(2));
  expect(numbers(await all(followLog(ask, {})))).toEqual([0, 1, 2]);
  expect(asked).toEqual([undefined, '1', '1', '2']);
});

test('says where lines are missing', async () => {
  const { ask } = server(
    `event: truncated\ndata: 7 lines dropped\n\n${line(9)}event: end\ndata:\n\n`,
  );
  expect(numbers(await all(followLog(ask, { after: 3 })))).toEqual(['7 lines dropped', 9]);
});

test('a refusal is not asked for again', async () => {
  const refusal = new HeadgateError('there is no such run', { code: 'not_found', status: 404 });
  const { ask, asked } = server(refusal);
  await expect(all(followLog(ask, {}))).rejects.toBe(refusal);
  expect(asked).toHaveLength(1);
});

test('stops when nobody listens any more', async () => {
  const controller = new AbortController();
  const { ask } = server(line(0));
  const reason = new Error('left');
  const events = followLog(ask, { signal: controller.signal });
  expect((await events.next()).value).toMatchObject({ seq: 0 });
  controller.abort(reason);
  await expect(events.next()).rejects.toBe(reason);
});
