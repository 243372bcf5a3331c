import { z } from 'zod';
import { finding, integer, json, nullAsAbsent, number, optional, text } from '../../kit/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { httpUrl, isJsonPath } from '../fields.ts';
import { namesIn, PER_REQUEST } from './template.ts';

export const SIGNATURE = 'sig';
const PLACES = ['header', 'query', 'cookie', 'body'] as const;
const TEMPLATE = '`${name}` stands for a captured value, `${ts}` and `${nonce}` for the request.';

const scalar = () =>
  z.preprocess(
    (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value),
    z.string(),
  );

const sign = z.lazy(() =>
  z.strictObject({
    alg: z
      .preprocess(
        (value) => (typeof value === 'string' ? value.toLowerCase().replaceAll('-', '_') : value),
        z.literal('hmac_sha256').default('hmac_sha256'),
      )
      .meta({ description: 'How it is signed.' }),
    key: text().meta({ description: `Key of the signature. ${TEMPLATE}`, secret: true }),
    template: text().meta({ description: `Text that is signed. ${TEMPLATE}` }),
    encoding: z
      .enum(['hex', 'base64'])
      .default('hex')
      .meta({ description: 'How the signature is written.' }),
    into: z
      .strictObject({
        header: text().meta({ description: 'Header that carries the signature.' }),
        format: text().default(`\${${SIGNATURE}}`).meta({
          description: 'Value of the header; `${sig}` stands for the signature.',
        }),
      })
      .meta({ description: 'Where the signature goes.' }),
  }),
);

const request = z.lazy(() =>
  z
    .strictObject({
      method: text().default('GET').meta({ description: 'HTTP method.' }),
      url: httpUrl(`Address of the step. ${TEMPLATE}`, (url) => url.startsWith('${')),
      headers: nullAsAbsent(z.record(z.string(), scalar()).default({})).meta({
        description: 'Headers of the request.',
        secret: true,
      }),
      query: nullAsAbsent(z.record(z.string(), scalar()).default({})).meta({
        description: 'Query parameters of the request.',
      }),
      form: optional(z.record(z.string(), scalar())).meta({
        description: 'Fields of a form, sent as the body.',
        secret: true,
      }),
      json: optional(json()).meta({ description: 'JSON body of the request.', secret: true }),
      sign: optional(sign).meta({ description: 'Signature of this request.' }),
    })
    .superRefine(({ method, form, json: body }, ctx) => {
      const given = form === undefined ? 'json' : 'form';
      if (form !== undefined && body !== undefined)
        ctx.addIssue(
          finding('invalid_value', '`form` and `json` exclude each other', { path: ['json'] }),
        );
      else if ((form ?? body) !== undefined && /^(get|head)$/i.test(method))
        ctx.addIssue(
          finding('invalid_value', `a ${method.toUpperCase()} request has no body`, {
            path: [given],
            hint: 'set `method: POST`',
          }),
        );
    }),
);

const FROM = ['json', 'xml', 'header', 'set_cookie'] as const;

const capture = z.lazy(() =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? { from: 'json', path: value } : value),
      z.strictObject({
        from: z.enum(FROM).default('json').meta({ description: 'What the value is taken from.' }),
        path: optional(text()).meta({
          description: 'JSONPath, or for `xml` a dot path of elements.',
        }),
        name: optional(text()).meta({ description: 'Name of the header or of the cookie.' }),
      }),
    )
    .superRefine(({ from, path, name }, ctx) => {
      const byPath = from === 'json' || from === 'xml';
      const [needed, other] = byPath ? (['path', 'name'] as const) : (['name', 'path'] as const);
      const [value, stray] = byPath ? [path, name] : [name, path];
      if (value === undefined)
        ctx.addIssue(
          finding('missing_key', `\`from: ${from}\` needs \`${needed}\``, { path: [needed] }),
        );
      if (stray !== undefined)
        ctx.addIssue(
          finding('invalid_value', `\`${other}\` has no meaning with \`from: ${from}\``, {
            path: [other],
          }),
        );
      if (from === 'json' && path !== undefined && !isJsonPath(path))
        ctx.addIssue(
          finding('invalid_value', `\`${path}\` is not a JSONPath`, {
            path: ['path'],
            hint: 'e.g. `$.data.token`',
          }),
        );
    }),
);

const step = z.lazy(() =>
  z.strictObject({
    request: request.meta({ description: 'The request of the step.' }),
    capture: nullAsAbsent(
      z
        .record(z.string().regex(/^[A-Za-z_]\w*$/, 'is not a name that `${…}` can hold'), capture)
        .default({}),
    ).meta({
      description:
        'Values of the answer by name: a JSONPath, or `{from, path}` or `{from, name}` for XML, headers and cookies.',
    }),
  }),
);

const placement = z.lazy(() =>
  z.strictObject({
    into: z.enum(PLACES).meta({ description: 'Where the value goes.' }),
    name: text().meta({
      description: 'Header, parameter, cookie, or field (or JSON pointer) of the body.',
    }),
    value: text().meta({ description: `What is sent. ${TEMPLATE}`, secret: true }),
  }),
);

const signature = z.lazy(() =>
  z.strictObject({ sign: sign.meta({ description: 'A signature of each request.' }) }),
);

const fields = z.lazy(() =>
  z.strictObject({
    steps: nullAsAbsent(z.array(step).default([])).meta({
      description: 'Requests that log in, one after the other.',
    }),
    apply: nullAsAbsent(z.array(z.union([placement, signature])).default([])).meta({
      description: 'What each request carries: a value, or `{sign: …}`.',
    }),
    base_url_from: optional(text().transform((name) => name.replace(/^\$\{(.*)\}$/, '$1'))).meta({
      description:
        'Captured name whose value takes the place of `base_url`, for services that tell their address at the login.',
    }),
    ttl_secs: optional(number({ min: 0.001, max: 31_536_000 })).meta({
      description: 'Seconds after which the login is made again; unset: when it is refused.',
    }),
    reauth_on: nullAsAbsent(z.array(integer({ min: 100, max: 599 })).default([])).meta({
      description: 'Statuses besides 401 that say that the login is no longer good.',
    }),
  }),
);

export const flowConfig = z.lazy(() => fields.superRefine(checkNames));
export type FlowConfig = z.output<typeof fields>;
export type FlowStep = FlowConfig['steps'][number];
export type FlowRequest = FlowStep['request'];
export type Capture = FlowStep['capture'][string];
export type Signing = NonNullable<FlowRequest['sign']>;
export type Placement = Extract<FlowConfig['apply'][number], { readonly into: unknown }>;

/** Every name in a template must have a value where it is used. */
function checkNames(config: FlowConfig, ctx: z.RefinementCtx): void {
  const known = new Set<string>(PER_REQUEST);
  const look = (
    value: JsonValue,
    path: (string | number)[],
    more: readonly string[] = [],
  ): void => {
    for (const name of namesIn(value))
      if (!known.has(name) && !more.includes(name))
        ctx.addIssue(
          finding('unknown_reference', `\`\${${name}}\` has no value here`, {
            path,
            hint: `there are ${[...known, ...more].map((one) => `\`\${${one}}\``).join(', ')}`,
          }),
        );
  };
  for (const [index, { request: one, capture: captured }] of config.steps.entries()) {
    const path = ['steps', index, 'request'];
    for (const [field, value] of Object.entries(one))
      if (field !== 'sign') look(value ?? null, [...path, field]);
    if (one.sign !== undefined) lookAtSigning(one.sign, [...path, 'sign'], look);
    for (const name of Object.keys(captured)) {
      if ((PER_REQUEST as readonly string[]).includes(name) || name === SIGNATURE)
        ctx.addIssue(
          finding('invalid_value', `\`${name}\` has a meaning of its own`, {
            path: ['steps', index, 'capture', name],
          }),
        );
      known.add(name);
    }
  }
  for (const [index, one] of config.apply.entries())
    if ('sign' in one) lookAtSigning(one.sign, ['apply', index, 'sign'], look);
    else look(one.value, ['apply', index, 'value']);
  if (config.base_url_from !== undefined && !known.has(config.base_url_from))
    look(`\${${config.base_url_from}}`, ['base_url_from']);
  if (config.apply.length === 0 && config.base_url_from === undefined)
    ctx.addIssue(
      finding('missing_key', 'the login puts nothing into requests', {
        path: ['apply'],
        hint: 'e.g. `apply: [{into: header, name: Authorization, value: "Bearer ${token}"}]`',
      }),
    );
}

type Look = (value: JsonValue, path: (string | number)[], more?: readonly string[]) => void;

function lookAtSigning(signing: Signing, path: (string | number)[], look: Look): void {
  look(signing.key, [...path, 'key']);
  look(signing.template, [...path, 'template']);
  look(signing.into.format, [...path, 'into', 'format'], [SIGNATURE]);
}

export function isPlacement(one: FlowConfig['apply'][number]): one is Placement {
  return 'into' in one;
}
