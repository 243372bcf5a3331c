import { z } from 'zod';
import { integer, nullAsAbsent, optional } from '../kit/schema.ts';
import {
  defineTrigger,
  type RequestReceiver,
  type TriggerContext,
  type TriggerEvent,
  type TriggerRequest,
} from '../kit/trigger.ts';
import { RefusedError } from '../lib/errors.ts';
import { headerName } from './header-name.ts';
import { secretsOf, signatureSchema, verifySignature } from './signature.ts';

/** As long as the key of a submission may be. */
const LONGEST_KEY = 512;
/** What they hold must not stand in documents, which are stored. */
const WITHHELD_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie']);

const fields = () =>
  z.strictObject({
    methods: nullAsAbsent(
      z
        .array(z.enum(['POST', 'PUT']))
        .min(1)
        .default(['POST']),
    ).meta({ description: 'Methods of requests that it answers.' }),
    dedupe_header: optional(headerName()).meta({
      description:
        'Header whose value is the idempotency key of the run: a second request with the same value starts none.',
    }),
    debounce_secs: nullAsAbsent(integer({ min: 0 }).default(0)).meta({
      description: 'For this long after a request started a run, others start none; 0 for never.',
    }),
    signature: optional(signatureSchema()).meta({
      description:
        'How the sender signs its requests; those without a right signature are refused.',
    }),
  });
type Config = z.output<ReturnType<typeof fields>>;

export const webhook = defineTrigger<Config>({
  type: 'webhook',
  description: 'A request to `/v1/triggers/{name}`.',
  fields,
  examples: [
    {},
    { methods: ['POST', 'PUT'], dedupe_header: 'X-Delivery-Id', debounce_secs: 30 },
    {
      dedupe_header: 'X-GitHub-Delivery',
      signature: { style: 'github', secret: '${env:GITHUB_SECRET}', instead_of_token: true },
    },
  ],
  tokens: ({ methods: [method] }) => [
    { name: 'method', example: method ?? 'POST' },
    { name: 'body', example: '{}' },
    { name: 'header', example: 'value', isGroup: true },
    { name: 'query', example: 'value', isGroup: true },
  ],
  starts: ({ methods, debounce_secs: debounce }, name) =>
    `${methods.join(' or ')} /v1/triggers/${name}${debounce === 0 ? '' : `, at most every ${debounce} s`}`,
  secrets: ({ signature }) => (signature === undefined ? [] : secretsOf(signature)),
  events: { by: 'request', open: receiverOf },
});

function receiverOf(config: Config, { name, clock, ids }: TriggerContext): RequestReceiver {
  const { methods, signature, debounce_secs } = config;
  const taken: readonly string[] = methods;
  return {
    debounceMs: debounce_secs * 1000,
    needsNoToken: signature?.instead_of_token === true,
    receive(request) {
      if (signature !== undefined) verifySignature(signature, request, clock.now());
      if (!taken.includes(request.method))
        throw new RefusedError(
          'bad_config',
          `the trigger \`${name}\` does not take ${request.method}`,
          { hint: `send ${taken.join(' or ')}` },
        );
      return eventOf(request, config, ids);
    },
  };
}

function eventOf(
  request: TriggerRequest,
  { dedupe_header: header }: Config,
  ids: TriggerContext['ids'],
): TriggerEvent {
  const { method, search } = request;
  let query: URLSearchParams | undefined;
  return {
    // In the order of time: keys are stored side by side, which random ones would not be.
    key: dedupeKey(request, header) ?? ids.next(),
    labels: { method },
    value(token) {
      if (token === 'method') return method;
      if (token === 'body') return bodyText(request.body);
      const [group, name] = split(token);
      if (group === 'query') return (query ??= new URLSearchParams(search)).get(name) ?? undefined;
      return group === 'header' ? headerOf(request, name) : undefined;
    },
  };
}

function dedupeKey({ headers }: TriggerRequest, header: string | undefined): string | undefined {
  const value = header === undefined ? undefined : headers[header.toLowerCase()];
  if (value === undefined || value === '') return undefined;
  if (value.length <= LONGEST_KEY) return value;
  throw new RefusedError(
    'bad_config',
    `the header \`${header}\` is longer than the ${LONGEST_KEY} letters of a key`,
  );
}

function headerOf({ headers }: TriggerRequest, name: string): string | undefined {
  const key = name.toLowerCase();
  return WITHHELD_HEADERS.has(key) ? undefined : headers[key];
}

function split(token: string): readonly [string, string] {
  const dot = token.indexOf('.');
  return [token.slice(0, dot), token.slice(dot + 1)];
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Only where a document has the token: what others send may be anything. */
function bodyText(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new RefusedError('bad_config', 'the body is not valid UTF-8');
  }
}
