import { ConnectorError } from '../../../lib/errors.ts';
import {
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { jsonBody, OTHER_FORMAT } from '../../_http/body.ts';
import type { HttpAnswer, HttpRequest } from '../../_http/client.ts';
import { compilePath } from '../../_http/json-path.ts';
import { joinUrl } from '../../_http/url.ts';
import { JOB_TOKEN, type AsyncJob } from '../config/job-config.ts';
import type { RestSetup } from '../request/setup.ts';

interface Call {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly json?: JsonValue | undefined;
}

/**
 * Starts a job and waits for it; gives the request that fetches its result. `shared` holds the
 * headers and parameters of the source.
 */
export async function runJob(setup: RestSetup, shared: HttpRequest): Promise<HttpRequest> {
  const job = jobOf(setup);
  const submit = { ...job.submit, url: job.submit.url, id: '', bound: true };
  const wanted = request(setup, shared, submit);
  const id = await setup.client.read(wanted, (answer) =>
    job.job_id === undefined ? '' : textAt(bodyOf(answer), job.job_id, 'the job id'),
  );
  const finished = await waitFor(setup, job, { id, shared });
  const { url, url_from: from } = job.fetch;
  if (url !== undefined) return request(setup, shared, { ...job.fetch, url, id });
  const found = textAt(finished.body, from ?? '', 'the address of the result');
  const target = URL.parse(found, finished.answer.url);
  if (target === null)
    throw new ConnectorError(
      'data',
      'the job answers with an address of its result that cannot be read',
    );
  return request(setup, shared, { ...job.fetch, url: target.href, id });
}

function jobOf({ config }: RestSetup): AsyncJob {
  if (config.async_job === undefined)
    throw new Error('cannot happen: a job is run without being configured');
  return config.async_job;
}

interface Finished {
  readonly answer: HttpAnswer;
  readonly body: JsonValue;
}

async function waitFor(
  setup: RestSetup,
  job: AsyncJob,
  run: { readonly id: string; readonly shared: HttpRequest },
): Promise<Finished> {
  const { clock } = setup.context.env;
  const { signal } = setup.context;
  const { poll, status } = job;
  const startedMs = clock.elapsedMs();
  const wanted = request(setup, run.shared, { ...poll, id: run.id });
  for (;;) {
    const { answer, body } = await setup.client.read(wanted, (one) => ({
      answer: one,
      body: bodyOf(one),
    }));
    const [found] = compilePath(status.path)(body);
    const state = found === undefined ? undefined : jsonText(found);
    if (state !== undefined && status.success.includes(state)) return { answer, body };
    if (state !== undefined && status.failure.includes(state)) {
      throw new ConnectorError('data', `the job ${run.id} ended as \`${state}\``, {
        hint: 'ask the API for the reason',
      });
    }
    if (clock.elapsedMs() - startedMs + poll.interval_secs * 1000 > poll.timeout_secs * 1000) {
      const last =
        state === undefined ? `nothing stands at \`${status.path}\`` : `it is \`${state}\``;
      throw new ConnectorError(
        'timeout',
        `the job ${run.id} was not done within ${poll.timeout_secs} s: ${last}`,
        {
          hint: 'raise `poll.timeout_secs`',
        },
      );
    }
    await clock.sleep(poll.interval_secs * 1000, signal);
    signal.throwIfAborted();
  }
}

/**
 * `bound` has the query and body of the source, which only the request that starts the job gets.
 */
function request(
  { config }: RestSetup,
  shared: HttpRequest,
  call: Call & { readonly url: string; readonly id: string; readonly bound?: boolean },
): HttpRequest {
  const fill = (text: string): string => text.replaceAll(JOB_TOKEN, () => call.id);
  const own = Object.entries(call.query).map(([name, value]) => [name, fill(value)] as const);
  const json =
    call.json === undefined
      ? call.bound === true
        ? shared.body
        : undefined
      : { json: filled(call.json, fill) };
  return {
    method: call.method,
    url: joinUrl(
      config.base_url,
      call.url.replaceAll(JOB_TOKEN, () => encodeURIComponent(call.id)),
    ),
    query: call.bound === true ? [...(shared.query ?? []), ...own] : own,
    headers: {
      ...shared.headers,
      ...Object.fromEntries(
        Object.entries(call.headers).map(([name, value]) => [name, fill(value)]),
      ),
    },
    body: json,
  };
}

function filled(value: JsonValue, fill: (text: string) => string): JsonValue {
  if (typeof value === 'string') return fill(value);
  if (Array.isArray(value)) return value.map((item) => filled(item, fill));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setField(copy, key, filled(item, fill));
  return copy;
}

function bodyOf(answer: HttpAnswer): JsonValue {
  return answer.bytes.length === 0
    ? null
    : jsonBody(answer.bytes, `the answer of ${answer.shownUrl}`, OTHER_FORMAT);
}

function textAt(body: JsonValue, path: string, what: string): string {
  const [found] = compilePath(path)(body);
  if (found === undefined || found === null || typeof found === 'object') {
    throw new ConnectorError('data', `the answer does not hold ${what} at \`${path}\``);
  }
  return jsonText(found);
}
