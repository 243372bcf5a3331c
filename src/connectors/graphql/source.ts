import type { SourceContext } from '../../kit/context.ts';
import type { Source } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonText,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { jsonBody } from '../_http/body.ts';
import { answerSource } from '../_http/answer-source.ts';
import { HttpClient } from '../_http/client.ts';
import { openConnections } from '../_http/connections.ts';
import { ANSWER_SECS } from '../_http/fields.ts';
import { compilePlace, compileRecords } from '../_http/json-path.ts';
import { compileRules } from '../_http/response-rules.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../_http/retry.ts';
import type { GraphqlConfig } from './config.ts';
import { IncrementalSource, type Answer } from './incremental.ts';
import { createPager, type PageRequest } from './pager.ts';

const RETRY: RequestRetry = {
  maxRetries: 2,
  backoff: 'exponential',
  baseMs: 500,
  maxMs: 60_000,
  jitter: true,
  on: ALL_TRANSIENT,
};
const ERRORS_SHOWN = 3;

export async function openGraphql(config: GraphqlConfig, context: SourceContext): Promise<Source> {
  const { env, signal } = context;
  const timeoutMs = (config.timeout ?? ANSWER_SECS) * 1000;
  const connections = await openConnections({ tls: config.tls, timeoutMs }, env);
  const client = new HttpClient({
    env,
    signal,
    provider: context.credentials.resolve(config.auth),
    homes: [config.endpoint],
    timeoutMs,
    timeoutField: 'timeout',
    keepsBody: true,
    retry: requestRetry(context.retry, RETRY, {}),
    rules: compileRules(config.retry_on_response),
    fetch: connections.fetch,
  });
  const reader = new GraphqlReader({ config, context, client });
  if (config.replication_method.type === 'Incremental')
    return new IncrementalSource({
      config,
      context,
      connections,
      answers: (bound) => reader.answers(bound),
    });
  return answerSource({
    answers: () => recordsOf(reader.answers(config.variables)),
    connections,
    context,
    batchSize: config.batch_size,
  });
}

interface Setup {
  readonly config: GraphqlConfig;
  readonly context: SourceContext;
  readonly client: HttpClient;
}

class GraphqlReader {
  readonly #setup: Setup;
  #isWarned = false;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** The records of each answer, in order. */
  async *answers(variables: JsonObject): AsyncGenerator<Answer> {
    const { config, context } = this.#setup;
    const { records_path: path, max_pages: most = Number.POSITIVE_INFINITY } = config;
    const read = path === undefined ? wholeData : compileRecords(path);
    const hasPlace = path === undefined ? () => true : compilePlace(path);
    const own = variablesOf({ query: config.query, variables }, context.parent);
    const pager = createPager(config, own, context.env.log);
    let request: PageRequest | undefined = pager.first;
    for (let page = 1; request !== undefined; page += 1) {
      const { body, ...told } = await this.#ask(request);
      const records = read(body);
      // The page before has said that there is this one.
      const isNamed = page > 1 && config.pagination?.type === 'Cursor';
      if ((isNamed && records.length === 0) || !hasPlace(body)) refuseFailed(told);
      request = pager.next(body, records.length);
      if (request === undefined && pager.isTold?.(body) === false) refuseFailed(told);
      const isCut = page >= most && request !== undefined;
      yield { records, isCut };
      if (!isCut) continue;
      context.env.log.warn('`max_pages` ended the reading before the last page', { pages: page });
      return;
    }
  }

  async #ask({ query, variables }: PageRequest): Promise<Body> {
    const { config, client } = this.#setup;
    const request = {
      method: 'POST',
      url: config.endpoint,
      body: { json: { query, variables } },
    };
    const { body, shownUrl } = await client.read(request, (answer) => ({
      body: jsonBody(answer.bytes, `the answer of ${answer.shownUrl}`),
      shownUrl: answer.shownUrl,
    }));
    const errors = isObject(body) && Array.isArray(body['errors']) ? body['errors'] : [];
    const data = isObject(body) ? (body['data'] ?? null) : null;
    if (data === null)
      throw new ConnectorError(
        'data',
        errors.length === 0
          ? `${shownUrl} answers without \`data\``
          : `${shownUrl} refuses the query: ${messagesIn(errors)}`,
        {
          hint:
            errors.length === 0
              ? 'check `endpoint`: GraphQL servers answer with `data` or `errors`'
              : 'check `query` and `variables`',
        },
      );
    if (errors.length > 0) this.#warnOfErrors(errors);
    return { body, errors, where: shownUrl };
  }

  /** Fields that failed are null in the records, and the server says why. */
  #warnOfErrors(errors: readonly JsonValue[]): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    const { context } = this.#setup;
    context.env.log.warn('the server could not answer all of the query: some fields are null', {
      row: context.row,
      errors: messagesIn(errors),
    });
  }
}

interface Body {
  readonly body: JsonValue;
  readonly errors: readonly JsonValue[];
  readonly where: string;
}

function refuseFailed({ errors, where }: Omit<Body, 'body'>): void {
  if (errors.length === 0) return;
  const lacks = `${where} gives a page without records, or without its end`;
  throw new ConnectorError('data', `${lacks}: ${messagesIn(errors)}`, {
    hint: 'a rule of `retry_on_response` with `match_success: true` repeats the request after such answers',
  });
}

async function* recordsOf(answers: AsyncIterable<Answer>): AsyncGenerator<readonly JsonValue[]> {
  for await (const { records } of answers) yield records;
}

function wholeData(body: JsonValue): JsonValue[] {
  return isObject(body) ? [body['data'] ?? null] : [];
}

function messagesIn(errors: readonly JsonValue[]): string {
  const texts = errors
    .slice(0, ERRORS_SHOWN)
    .map((error) => (isObject(error) ? jsonText(error['message'] ?? error) : jsonText(error)));
  const more = errors.length - texts.length;
  return texts.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** Variables that the query declares and the config leaves out come from the parent record. */
function variablesOf(
  { query, variables }: Pick<GraphqlConfig, 'query' | 'variables'>,
  parent: JsonValue | undefined,
): JsonObject {
  const own: JsonObject = { ...variables };
  if (!isObject(parent ?? null)) return own;
  for (const [, name = ''] of query.matchAll(/\$([A-Za-z_]\w*)\s*:/g))
    if (!hasField(own, name) && hasField(parent as JsonObject, name))
      own[name] = (parent as JsonObject)[name] ?? null;
  return own;
}
