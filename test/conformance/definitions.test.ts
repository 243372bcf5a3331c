/** Every definition of this build owes its readers the same things, whatever it defines. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { parts } from '../../src/parts.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import { load } from '../fakes/documents.ts';
import { itIsWellDefined } from './definition.ts';

for (const [kind, definitions] of Object.entries({
  'state store': parts.states.all,
  credential: parts.credentials.all,
})) {
  for (const definition of definitions)
    describe(`${kind} ${definition.type}`, () => itIsWellDefined(definition));
}

for (const definition of parts.transforms.all) {
  describe(`transform ${definition.type}`, () =>
    itIsWellDefined({
      ...definition,
      examples: definition.examples.map((example) => example.config),
    }));
}

for (const [kind, definitions] of Object.entries({
  source: parts.sources.all,
  sink: parts.sinks.all,
})) {
  for (const definition of definitions)
    describe(`${kind} ${definition.type}`, () => {
      itIsWellDefined(definition);
      test.each(definition.examples)(
        'is valid in a document with the config of an example',
        (config) => {
          const spec = { type: definition.type, config };
          expect(() =>
            planWith(kind === 'source' ? { source: spec } : { sink: spec }),
          ).not.toThrow();
        },
      );
    });
}

/** Whatever variable or file an example names is there. */
function planWith(pipeline: JsonObject): void {
  const document = {
    version: 1,
    pipeline: {
      source: { type: 'jsonl', config: { path: 'in.jsonl' } },
      sink: { type: 'stdout' },
      state: { type: 'memory' },
      dlq: { sink: { type: 'stdout' } },
      ...pipeline,
    },
  };
  const options = {
    format: 'json' as const,
    variables: new Proxy(
      {},
      {
        get: () => 'value',
        has: () => true,
        getOwnPropertyDescriptor: () => ({ value: 'value', configurable: true }),
      },
    ),
    readFile: () => Buffer.from('text'),
  };
  planDocument(load(JSON.stringify(document), options), parts, { cpus: 1 });
}
