/**
 * Requests made at random from the served description, and others that it forbids: every answer is
 * one that the description names, with a body of its schema, and none says that the server failed.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeApi } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/routes/index.ts';
import { workshop, type Program } from './serve-program.ts';

/** Of each operation; more with `HEADGATE_FUZZ_REQUESTS`. */
const REQUESTS = Number(process.env['HEADGATE_FUZZ_REQUESTS'] ?? 12);
const LONGEST_MS = 30_000;
const DEEPEST = 4;

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

interface Content {
  readonly schema?: Schema;
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: 'path' | 'query';
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Content>> }>
  >;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

interface Request {
  readonly method: string;
  readonly target: string;
  readonly body: unknown;
}

const description = describeApi(ROUTES) as Description;
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(
    ([method, operation]) => [`${method.toUpperCase()} ${path}`, path, method, operation] as const,
  ),
);

const DOCUMENT = `version: 1
name: fuzzed
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

const shop = workshop();
let program: Program;
/** Values that reach something; requests with random ones mostly end at the first check. */
const known: Record<string, string[]> = { config: [DOCUMENT], body: [DOCUMENT], name: ['hook'] };

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id,amount\n1,2.50\n');
  writeFileSync(shop.path('hook.yaml'), DOCUMENT);
  const triggers = [{ name: 'hook', type: 'webhook', config: 'hook.yaml' }];
  writeFileSync(shop.path('triggers.json'), JSON.stringify({ version: 1, triggers }));
  program = await shop.start({
    args: ['--triggers', 'triggers.json', '--preview-local-outputs', '--mcp'].concat(
      '--data-root',
      shop.dir,
      '--data-dir',
      shop.path('data'),
    ),
  });
  const run = await program.submit(DOCUMENT);
  await program.ended(run);
  const template = await program.call('POST', '/v1/templates', {
    config: DOCUMENT,
    launch: true,
  });
  expect(template.status, template.text).toBeLessThan(300);
  known['id'] = [run, 'fuzzed'];
});
afterAll(() => shop.dispose());

/** Mostly a value of the schema, at times another one. */
function valueOf(schema: Schema, name = '', depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof(
    { arbitrary: fitting(schema, name, depth), weight: 8 },
    { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 1 },
    { arbitrary: fc.constantFrom(...HOSTILE), weight: 1 },
  );
}

const HOSTILE = ['', '\u0000', '../../etc/passwd', '${env:HOME}', -1, 1e308, null, [], {}, '💥'];

function fitting(schema: Schema, name: string, depth: number): fc.Arbitrary<unknown> {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((one) => fitting(one, name, depth)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (typeof schema.type === 'string' ? schema.type : schema.type?.[0]) {
    case 'string':
      return textOf(name);
    case 'integer':
      return fc.integer({ min: -2, max: 5000 });
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(valueOf(schema.items ?? {}, name, depth + 1), { maxLength: 3 });
    case 'object':
      return objectOf(schema, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function textOf(name: string): fc.Arbitrary<string> {
  const values = known[name] ?? [];
  return values.length === 0
    ? fc.string({ maxLength: 20, unit: 'grapheme' })
    : fc.oneof(fc.constantFrom(...values), fc.string({ maxLength: 20 }));
}

function objectOf({ properties = {}, required = [] }: Schema, depth: number) {
  if (depth >= DEEPEST) return fc.constant({});
  const members = Object.entries(properties).map(
    ([name, schema]) => [name, valueOf(schema, name, depth + 1)] as const,
  );
  return fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
}

function requestOf(path: string, method: string, operation: Operation): fc.Arbitrary<Request> {
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((one) => one.in === 'path');
  const inQuery = parameters.filter((one) => one.in === 'query');
  const schema = operation.requestBody?.content['application/json']?.schema;
  return fc
    .record({
      path: fc.tuple(...inPath.map(({ name, schema: one }) => valueOf(one, name))),
      query: fc.tuple(...inQuery.map(({ name, schema: one }) => fc.option(valueOf(one, name)))),
      body: schema === undefined ? fc.constant(undefined) : valueOf(schema),
    })
    .map(({ path: values, query, body }) => {
      const filled = inPath.reduce(
        (text, { name }, index) =>
          text.replace(`{${name}}`, encodeURIComponent(segment(values[index]))),
        path,
      );
      const search = new URLSearchParams();
      inQuery.forEach(({ name }, index) => {
        if (query[index] !== null) search.set(name, textIn(query[index]));
      });
      return { method: method.toUpperCase(), target: `${filled}?${search}`, body };
    });
}

function textIn(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed();
}

/** Empty ones and those of dots are another path. */
function segment(value: unknown): string {
  const text = textIn(value);
  return /^\.{0,2}$/.test(text) ? 'x' : text;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const compiled = new Map<Schema, ValidateFunction>();

function faultOf(operation: Operation, answer: { status: number; type: string; text: string }) {
  if (answer.status >= 500) return 'the server failed';
  const response = operation.responses[String(answer.status)];
  if (response === undefined) return 'the status is not described';
  if (!answer.type.startsWith('application/json')) return undefined;
  const schema = response.content?.['application/json']?.schema;
  if (schema === undefined) return 'a JSON body is not described';
  const check =
    compiled.get(schema) ?? ajv.compile({ ...schema, components: description.components });
  compiled.set(schema, check);
  return check(JSON.parse(answer.text)) ? undefined : ajv.errorsText(check.errors);
}

describe('what the description allows and forbids', () => {
  test.each(operations)('%s', async (_name, path, method, operation) => {
    await fc.assert(
      fc.asyncProperty(requestOf(path, method, operation), async ({ target, body, ...request }) => {
        const response = await fetch(program.url + target, {
          ...request,
          ...(body === undefined
            ? {}
            : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
          signal: AbortSignal.timeout(LONGEST_MS),
        });
        const type = response.headers.get('content-type') ?? '';
        const answer = { status: response.status, type, text: await response.text() };
        const fault = faultOf(operation, answer);
        expect(fault, `${fault}: ${answer.status} ${answer.text.slice(0, 500)}`).toBeUndefined();
      }),
      { numRuns: REQUESTS, endOnFailure: true },
    );
  });
});
