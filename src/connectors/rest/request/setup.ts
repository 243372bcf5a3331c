import type { SourceContext } from '../../../kit/context.ts';
import type { Redactor } from '../../../lib/redact.ts';
import { HttpClient } from '../../_http/client.ts';
import { compileRules } from '../../_http/response-rules.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../../_http/retry.ts';
import { openConnections, type Connections } from '../../_http/connections.ts';
import { ANSWER_SECS } from '../../_http/fields.ts';
import { looksSecret } from '../../_http/url.ts';
import type { RestConfig } from '../config/config.ts';
import { compileExtraction, type Extract } from '../read/records.ts';
import { shapeOf, type Shape } from './shape.ts';

const DEFAULT_RETRIES = 3;
const DEFAULT_BACKOFF_SECS = 1;
const DEFAULT_RETRY: RequestRetry = {
  maxRetries: DEFAULT_RETRIES,
  backoff: 'exponential',
  baseMs: DEFAULT_BACKOFF_SECS * 1000,
  maxMs: 60_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

/** What a rest source prepares once and uses for every request. */
export interface RestSetup {
  readonly config: RestConfig;
  readonly context: SourceContext;
  readonly shape: Shape;
  readonly client: HttpClient;
  readonly extract: Extract;
  readonly connections: Connections;
}

export async function setUp(config: RestConfig, context: SourceContext): Promise<RestSetup> {
  const shape = shapeOf(config);
  hideSecrets(config, context.env.redactor);
  const provider = context.credentials.resolve(config.auth);
  const timeoutMs = (config.timeout ?? ANSWER_SECS) * 1000;
  const connections = await openConnections({ tls: config.tls, timeoutMs }, context.env);
  const client = new HttpClient({
    env: context.env,
    signal: context.signal,
    provider,
    homes: homesOf(config),
    trustedHosts: config.trusted_hosts,
    baseUrl: config.base_url,
    timeoutMs,
    timeoutField: 'timeout',
    retry: retryOf(config, context.retry),
    rules: compileRules(config.retry_on_response),
    fetch: connections.fetch,
  });
  const extract = compileExtraction({ ...config, records_path: shape.recordsPath });
  return { config, context, shape, client, extract, connections };
}

/** A secret may also stand in a plain header or parameter. */
function hideSecrets(config: RestConfig, redactor: Redactor): void {
  for (const [name, value] of [
    ...Object.entries(config.headers),
    ...Object.entries(config.query_params),
  ]) {
    if (looksSecret(name)) redactor.register(value);
  }
}

/** Every address in the config. */
function homesOf(config: RestConfig): string[] {
  const job = config.async_job;
  return [config.base_url, config.path, job?.submit.url, job?.poll.url, job?.fetch.url].filter(
    (one) => one !== undefined && URL.canParse(one),
  ) as string[];
}

/**
 * Number and delay of repeats come from `resilience.retry` of the document, unless the source sets
 * one of them itself. It has all other settings.
 */
function retryOf(config: RestConfig, policy: SourceContext['retry']): RequestRetry {
  const isPlain =
    config.max_retries === DEFAULT_RETRIES && config.retry_backoff === DEFAULT_BACKOFF_SECS;
  const own = { maxRetries: config.max_retries, baseMs: config.retry_backoff * 1000 };
  return requestRetry(policy, { ...DEFAULT_RETRY, ...own }, isPlain ? {} : own);
}
