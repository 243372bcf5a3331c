/**
 * Client of the HTTP API. `routes` reaches every route with the types of the API description; the
 * other members are what most programs need.
 */
import createRoutes, { type Client as Routes } from 'openapi-fetch';
import { errorOf, HeadgateError, unreachable } from './errors.ts';
import { followLog, type FollowOptions, type LogEvent } from './follow-log.ts';
import type {
  RunGetAnswer,
  RunListAnswer,
  RunListQuery,
  RunRerunAnswer,
  RunRerunBody,
  RunSubmitAnswer,
  RunSubmitBody,
  TemplateRunAnswer,
  TemplateRunBody,
  paths,
} from './generated/api.ts';

export interface ClientOptions {
  /** Address of the server, such as `https://headgate.example.com`. */
  readonly server: string;
  /** Sent as a bearer token. */
  readonly token?: string | undefined;
  readonly fetch?: typeof globalThis.fetch;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Between two questions; 500 by default. */
  readonly everyMs?: number;
  /** Is given every answer. */
  readonly onProgress?: (run: RunGetAnswer) => void;
}

export interface StoredLogRange {
  /** Only lines with a greater number. */
  readonly after?: number | undefined;
  /** Lines at most. */
  readonly limit?: number | undefined;
}

export type StoredLogItem =
  | { readonly seq: number; readonly ts: string; readonly level: string; readonly line: string }
  | { readonly truncated: true };

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export class HeadgateClient {
  /**
   * `routes.GET('/v1/runs/{id}', { params: { path: { id } } })`. Rejects with `HeadgateError` when
   * the server refuses or cannot be reached.
   */
  readonly routes: Routes<paths>;
  readonly #request: (path: string, init: RequestInit) => Promise<Response>;

  /** Throws a `HeadgateError` for an address that is none. */
  constructor({ server, token, fetch = globalThis.fetch }: ClientOptions) {
    const baseUrl = addressOf(server);
    const headers: Record<string, string> =
      token === undefined ? {} : { authorization: `Bearer ${sendable(token)}` };
    const send = async (request: Request): Promise<Response> => {
      const answer = await fetch(request).catch((error: unknown) => {
        if (request.signal.aborted) throw error;
        throw unreachable(baseUrl, error);
      });
      if (!answer.ok) throw await errorOf(answer);
      return answer;
    };
    this.routes = createRoutes<paths>({
      baseUrl,
      headers,
      fetch: send,
      // As the description says: lists are separated by commas.
      querySerializer: { array: { style: 'form', explode: false } },
    });
    this.#request = (path, init) =>
      send(
        new Request(`${baseUrl}${path}`, {
          ...init,
          headers: { ...headers, ...(init.headers as Record<string, string>) },
        }),
      );
  }

  /** Queues a run of a document. */
  async submit(submission: RunSubmitBody): Promise<RunSubmitAnswer> {
    return present(await this.routes.POST('/v1/runs', { body: submission }));
  }

  /** Queues a run of a template; the slash of `owner/name` is part of the id. */
  async runTemplate(id: string, how: TemplateRunBody = {}): Promise<TemplateRunAnswer> {
    return present(
      await this.routes.POST('/v1/templates/{id}/runs', { params: { path: { id } }, body: how }),
    );
  }

  async run(id: string): Promise<RunGetAnswer> {
    return present(await this.routes.GET('/v1/runs/{id}', { params: { path: { id } } }));
  }

  /** Newest first, page after page. */
  async *runs(query: RunListQuery = {}): AsyncGenerator<RunListAnswer['runs'][number], void> {
    let cursor = query.cursor;
    do {
      const next = cursor === undefined ? query : { ...query, cursor };
      const page = present(await this.routes.GET('/v1/runs', { params: { query: next } }));
      yield* page.runs;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Whether the run was asked to stop; false: it had ended. */
  async cancel(id: string): Promise<boolean> {
    const { response } = await this.routes.POST('/v1/runs/{id}/cancel', {
      params: { path: { id } },
    });
    return response.status === 202;
  }

  /** Runs an ended run again. */
  async rerun(id: string, how: RunRerunBody = {}): Promise<RunRerunAnswer> {
    return present(
      await this.routes.POST('/v1/runs/{id}/rerun', { params: { path: { id } }, body: how }),
    );
  }

  /** One page of the stored log; `truncated` at its end means that lines are missing. */
  async storedLog(id: string, range: StoredLogRange = {}): Promise<readonly StoredLogItem[]> {
    const query = new URLSearchParams({ format: 'jsonl' });
    if (range.after !== undefined) query.set('after', String(range.after));
    if (range.limit !== undefined) query.set('limit', String(range.limit));
    const answer = await this.#request(`/v1/runs/${encodeURIComponent(id)}/logs?${query}`, {});
    const lines = (await answer.text()).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as StoredLogItem);
  }

  /** Asks until the run has ended. */
  async wait(id: string, options: WaitOptions = {}): Promise<RunGetAnswer> {
    const { signal, everyMs = 500, onProgress } = options;
    for (;;) {
      signal?.throwIfAborted();
      const run = await this.run(id);
      onProgress?.(run);
      if (ENDED.has(run.status)) return run;
      await pause(everyMs, signal);
    }
  }

  /** The log of a run from its beginning, and on until the run ends; connects again by itself. */
  followLog(id: string, options: FollowOptions = {}): AsyncGenerator<LogEvent, void> {
    const path = `/v1/runs/${encodeURIComponent(id)}/logs`;
    return followLog((init) => this.#request(path, init), options);
  }
}

function addressOf(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new HeadgateError(`\`${server}\` is no http or https address`, {
      code: 'bad_address',
      hint: 'write it like https://headgate.example.com',
    });
  if (url.username !== '' || url.password !== '')
    throw new HeadgateError('the address of the server must not hold a password', {
      code: 'bad_address',
      hint: 'leave it out; the server takes a token',
    });
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** As the letters that stand for its bytes. The token itself is in no message. */
function sendable(token: string): string {
  const bytes = Array.from(new TextEncoder().encode(token));
  const letters = bytes.map((byte) => String.fromCharCode(byte)).join('');
  // oxlint-disable-next-line no-control-regex -- these are what a header cannot hold
  if (!/[\0\r\n]/.test(letters.trim())) return letters;
  throw new HeadgateError('the token holds a line break, which no request can carry', {
    code: 'bad_token',
    hint: 'copy the token again, on one line',
  });
}

/** A successful answer without the body that its description promises comes from another server. */
function present<T>({ data }: { readonly data?: T }): T {
  if (data === undefined || typeof data !== 'object')
    throw new HeadgateError('the answer is not that of a Headgate server', { code: 'bad_answer' });
  return data;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}
