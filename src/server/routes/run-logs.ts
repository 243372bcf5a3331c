/** The log of a run, live as server-sent events or read back from storage. */
import { z } from 'zod';
import type { LogEvent, StoredLog } from '../../runs/service/runs.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { EVENT_STREAM, eventText, keepAlive } from '../http/event-stream.ts';
import { clamped, listLimit } from '../http/query.ts';
import { defineRoute, empty, stream, text, type Route } from '../route.ts';
import { runParams } from './runs.ts';

const JSON_LINES = 'application/x-ndjson';
const PLAIN = 'text/plain; charset=utf-8';

const logsQuery = z.strictObject({
  format: z
    .enum(['jsonl', 'text'])
    .optional()
    .meta({ description: 'Read stored lines in this form; absent streams live.' }),
  after: clamped({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }).meta({
    description: 'Stored lines with a greater `seq` only.',
  }),
  limit: listLimit('Stored lines at most', { max: 10_000, fallback: 1000 }),
});

const readLogs = defineRoute({
  method: 'GET',
  path: '/v1/runs/{id}/logs',
  permission: 'run_read',
  label: 'run.logs',
  tag: 'runs',
  summary: 'Read or follow the log of a run',
  description:
    'Without `format`, server-sent events: `log` (one line), `truncated` (the reader fell behind), `end` (the run is over). ' +
    'Each event has an `id`; a client that sends it as `Last-Event-ID` gets what comes after it, or 204 after the end. ' +
    'With `format=jsonl`, stored lines as `{seq, ts, level, line}`; a final `{"truncated": true}` means that lines were dropped. ' +
    'With `format=text`, the lines alone.',
  params: runParams,
  query: logsQuery,
  uses: ['runs', 'clock'],
  responses: {
    200: {
      description: 'The log.',
      contentType: EVENT_STREAM,
      otherContentTypes: [JSON_LINES, PLAIN],
    },
    204: { description: 'There is nothing after the event named by `Last-Event-ID`.' },
  },
  async handle({ params, query, signal, lastEventId }, { runs, clock }) {
    if (query.format === undefined) {
      const events =
        lastEventId === undefined
          ? await runs.followLog(params.id, signal)
          : await runs.continueLog(params.id, lastEventId, signal);
      if (events === undefined) return empty(204);
      return stream(EVENT_STREAM, keepAlive(eventTexts(events), clock, signal));
    }
    const stored = await runs.readLog(params.id, {
      after: query.after,
      limit: query.limit,
    });
    return query.format === 'jsonl'
      ? text(JSON_LINES, jsonLines(stored))
      : text(PLAIN, plainLines(stored));
  },
});

async function* eventTexts(events: AsyncIterable<LogEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    switch (event.type) {
      case 'log':
        yield eventText('log', event.line, event.seq);
        break;
      case 'truncated':
        yield eventText('truncated', `${event.dropped} lines dropped: the reader fell behind`);
        break;
      case 'end':
        yield eventText('end', 'done', event.seq);
        return;
      default:
        event satisfies never;
    }
  }
}

function jsonLines({ lines, truncated }: StoredLog): string {
  const objects: object[] = lines.map(({ seq, ts, level, line }) => ({ seq, ts, level, line }));
  if (truncated) objects.push({ truncated: true });
  return objects.map((object) => `${stringifyJson({ ...object })}\n`).join('');
}

function plainLines({ lines, truncated }: StoredLog): string {
  const note = truncated
    ? '(lines were dropped: the log is longer than what is kept of one run)\n'
    : '';
  return lines.map(({ line }) => `${line}\n`).join('') + note;
}

export const runLogRoutes: readonly Route[] = [readLogs];
