import type { SourceContext } from '../../kit/context.ts';
import type { Source } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { excerptOf } from '../../lib/text/excerpt.ts';
import { elementsAt, elementsBelow, parseXml } from '../../lib/xml/xml-document.ts';
import { tellMisnamedEncoding, xmlText } from '../../lib/xml/xml-text.ts';
import { answerSource } from '../_http/answer-source.ts';
import { HttpClient, type HttpAnswer, type HttpRequest } from '../_http/client.ts';
import { xmlBody } from '../_http/xml-body.ts';
import { openConnections } from '../_http/connections.ts';
import { ANSWER_SECS } from '../_http/fields.ts';
import { decodeAnswer } from '../_http/decode.ts';
import { ALL_TRANSIENT, requestRetry, type RequestRetry } from '../_http/retry.ts';
import { statusError } from '../_http/errors.ts';
import { joinUrl, looksSecret } from '../_http/url.ts';
import { methodOf, type XmlConfig } from './config.ts';
import { createPager, type PageChange } from './pager.ts';
import { bodyOf, envelope, faultOf, soapHeaders } from './soap.ts';
import { noteFailure } from './told-failure.ts';

const RETRY: RequestRetry = {
  maxRetries: 3,
  backoff: 'exponential',
  baseMs: 1000,
  maxMs: 60_000,
  jitter: true,
  on: ALL_TRANSIENT,
};

export async function openXml(config: XmlConfig, context: SourceContext): Promise<Source> {
  const { env, signal } = context;
  for (const [name, value] of Object.entries(config.query_params))
    if (looksSecret(name)) env.redactor.register(value);
  const timeoutMs = (config.timeout ?? ANSWER_SECS) * 1000;
  const connections = await openConnections({ tls: config.tls, timeoutMs }, env);
  const client = new HttpClient({
    env,
    signal,
    provider: context.credentials.resolve(config.auth),
    homes: [config.base_url],
    baseUrl: config.base_url,
    timeoutMs,
    timeoutField: 'timeout',
    keepsBody: true,
    retry: requestRetry(context.retry, RETRY, {}),
    // Faults of SOAP come with the status 500, those of version 1.2 for what was sent with 400.
    ...(config.soap === undefined ? {} : { accepts: isXmlFailure }),
    fetch: connections.fetch,
  });
  const reader = new XmlReader({ config, context, client });
  return answerSource({
    answers: () => reader.answers(),
    connections,
    context,
    batchSize: config.batch_size,
  });
}

/** No content is no records. */
function isEmpty({ status, bytes }: HttpAnswer): boolean {
  return status < 300 && bytes.length === 0;
}

function nameOf({ shownUrl }: HttpAnswer): string {
  return `the answer of ${shownUrl}`;
}

function isXmlFailure({ status, headers }: Response): boolean {
  return (status === 400 || status === 500) && /\bxml\b/.test(headers.get('content-type') ?? '');
}

interface Setup {
  readonly config: XmlConfig;
  readonly context: SourceContext;
  readonly client: HttpClient;
}

class XmlReader {
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  async *answers(): AsyncGenerator<readonly JsonValue[]> {
    const { config, context, client } = this.#setup;
    const { max_pages: most = Number.POSITIVE_INFINITY } = config;
    const pager = createPager(config.pagination);
    let change: PageChange | undefined = pager.first;
    for (let page = 1; change !== undefined; page += 1) {
      const { answer, document: parsed } = await client.read(requestOf(config, change), (one) => ({
        answer: one,
        document: this.#parsed(one),
      }));
      if (isEmpty(answer)) return;
      if (pager.repeats?.(answer.bytes) === true) {
        const message = 'the service gave the same answer as for the page before: that is the end';
        context.env.log.warn(message, { pages: page - 1 });
        return;
      }
      const document = this.#checked(answer, parsed);
      if (document === undefined) return;
      if (config.decode !== undefined) {
        yield* this.#decoded(answer);
        return;
      }
      const start = startOf(document, config);
      const records = recordsIn(start, config);
      if (records.length === 0 && config.records_element_path !== undefined)
        noteFailure(context, start, {
          path: config.records_element_path,
          where: answer.shownUrl,
          isSure: page === 1 || pager.isNamed,
        });
      yield records;
      change = pager.next([start, document], records.length);
      if (page < most || change === undefined) continue;
      context.env.log.warn('`max_pages` ended the reading before the last page', { pages: page });
      return;
    }
  }

  /** Null where nothing has to be parsed: steps may begin with something else than XML. */
  #parsed(answer: HttpAnswer): JsonValue {
    const { soap, decode } = this.#setup.config;
    if (isEmpty(answer) || (decode !== undefined && soap === undefined)) return null;
    const name = nameOf(answer);
    tellMisnamedEncoding(answer.bytes, name, this.#setup.context.env.log);
    return xmlBody(answer.bytes, name);
  }

  /** Undefined when it is a Fault that counts as no records. */
  #checked(answer: HttpAnswer, document: JsonValue): JsonValue | undefined {
    const { soap } = this.#setup.config;
    if (soap === undefined) return document;
    const fault = faultOf(document);
    if (fault === undefined) {
      if (answer.status < 300) return document;
      const { status, shownUrl: url, bytes } = answer;
      const excerpt = excerptOf(bytes, this.#setup.context.env.redactor);
      throw statusError({ method: methodOf(this.#setup.config), url, status, excerpt });
    }
    if (!soap.fault_as_error) return undefined;
    throw new ConnectorError('refused', `${answer.shownUrl} answers with a Fault: ${fault}`, {
      hint: 'check `soap.action`, and what is sent; `fault_as_error: false` reads a Fault as no records',
    });
  }

  #decoded(answer: HttpAnswer): AsyncGenerator<readonly JsonValue[]> {
    const name = nameOf(answer);
    const { config, context } = this.#setup;
    return decodeAnswer(answer.bytes, config.decode ?? [], {
      name,
      pageBytes: context.pageBytes,
      signal: context.signal,
      extract: (bytes, path) =>
        withoutAttributes(elementsAt(parseXml(xmlText(bytes, name), name), path)[0]),
    });
  }
}

function requestOf(config: XmlConfig, change: PageChange): HttpRequest {
  const { soap } = config;
  const query = [...Object.entries(config.query_params), ...(change.query ?? [])];
  const base = { method: methodOf(config), url: joinUrl(config.base_url, config.path), query };
  const own = change.body ?? soap?.body_inner ?? config.body;
  const accept = { accept: 'application/xml, text/xml, */*;q=0.5' };
  if (own === undefined) return { ...base, headers: accept };
  const text = soap?.body_inner === undefined ? own : envelope(soap, own);
  if (soap === undefined)
    return { ...base, headers: accept, body: { text, type: 'application/xml; charset=utf-8' } };
  const { type, headers } = soapHeaders(soap);
  return { ...base, headers: { ...accept, ...headers }, body: { text, type } };
}

/** The text of an element that has nothing else but attributes. */
function withoutAttributes(element: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(element)) return element;
  const { '#text': text, ...rest } = element;
  return text !== undefined && Object.keys(rest).every((name) => name.startsWith('@'))
    ? text
    : element;
}

function startOf(document: JsonValue, { soap }: XmlConfig): JsonValue {
  return soap !== undefined && soap.path_relative_to_body ? (bodyOf(document) ?? null) : document;
}

/** Without a path everything is one record. */
function recordsIn(start: JsonValue, { records_element_path: path }: XmlConfig): JsonValue[] {
  if (start === null) return [];
  return path === undefined ? [start] : elementsBelow(start, path);
}
