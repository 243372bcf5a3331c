/** The few calls of the HTTP API that the demo makes, made like those of every other client. */
import { AppError } from '../../lib/errors.ts';
import type { RunRecord, SubmissionReceipt } from '../../wire/run.ts';

export interface ApiClient {
  submit(config: string, name: string): Promise<SubmissionReceipt>;
  run(runId: string): Promise<RunRecord>;
  /** Log lines as they are written; ends when the run has ended. */
  log(runId: string, signal: AbortSignal): AsyncGenerator<string>;
}

export function apiClient(baseUrl: string, fetch: typeof globalThis.fetch): ApiClient {
  const json = async <T>(path: string, init?: RequestInit): Promise<T> => {
    const answer = await fetch(`${baseUrl}${path}`, init);
    if (answer.ok) return (await answer.json()) as T;
    const body = (await answer.json().catch(() => ({}))) as {
      error?: { code?: string; message?: string };
    };
    throw new AppError(
      body.error?.code ?? 'http',
      `${init?.method ?? 'GET'} ${path} answered ${answer.status}: ${body.error?.message ?? answer.statusText}`,
    );
  };
  return {
    submit: (config, name) =>
      json('/v1/runs', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          config,
          config_format: 'yaml',
          name,
          labels: { from: 'npm start' },
        }),
      }),
    run: (runId) => json(`/v1/runs/${runId}`),
    async *log(runId, signal) {
      const answer = await fetch(`${baseUrl}/v1/runs/${runId}/logs`, { signal });
      for await (const event of serverSentEvents(answer)) {
        if (event.name === 'end') return;
        if (event.name === 'log') yield event.data;
      }
    },
  };
}

interface ServerSentEvent {
  readonly name: string;
  readonly data: string;
}

async function* serverSentEvents(answer: Response): AsyncGenerator<ServerSentEvent> {
  if (answer.body === null) return;
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of answer.body) {
    pending += decoder.decode(chunk as Uint8Array, { stream: true });
    const events = pending.split('\n\n');
    pending = events.pop() ?? '';
    for (const event of events) yield parseEvent(event);
  }
}

function parseEvent(text: string): ServerSentEvent {
  const field = (name: string): string =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
      .join('\n');
  return { name: field('event'), data: field('data') };
}
