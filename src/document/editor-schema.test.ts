import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parts } from '../parts.ts';
import { GRAMMAR } from '../blocks/index.ts';
import { editorSchema } from './editor-schema.ts';
import { parseText } from './parse/parse.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');
const check = new Ajv2020({ strict: false, allErrors: true }).compile(editorSchema(parts, GRAMMAR));

function problems(document: unknown): string[] {
  check(document);
  return (check.errors ?? [])
    .filter(({ keyword }) => keyword !== 'if')
    .map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const document = (pipeline: object, rest: object = {}): object => ({
  version: 1,
  pipeline,
  ...rest,
});
const source = { type: 'csv', config: { path: 'a.csv' } };
const sink = { type: 'jsonl', config: { path: 'a.jsonl' } };

describe('the schema for editors', () => {
  it.each(readdirSync(EXAMPLES).filter((name) => /\.(yaml|json)$/.test(name)))(
    'accepts examples/%s',
    (name) => {
      const { tree } = parseText(
        readFileSync(join(EXAMPLES, name), 'utf8'),
        name.endsWith('.json') ? 'json' : 'yaml',
        {
          kind: 'file',
          path: name,
        },
      );
      expect(problems(tree)).toEqual([]);
    },
  );

  it('knows the settings of the part that is named', () => {
    expect(
      problems(
        document({ source: { type: 'csv', config: { path: 'a.csv', delimeter: ';' } }, sink }),
      ),
    ).toEqual(['/pipeline/source/config must NOT have additional properties']);
    expect(
      problems(document({ source, sink, transforms: [{ type: 'drop', config: {} }] })),
    ).toEqual(["/pipeline/transforms/0/config must have required property 'fields'"]);
    expect(
      problems(document({ source, sink, dlq: { sink: { type: 'jsonl', config: { pth: 'x' } } } })),
    ).toEqual(['/pipeline/dlq/sink/config must NOT have additional properties']);
    expect(problems(document({ source, sink, state: { type: 'fil' } }))).toEqual([
      '/pipeline/state/type must be equal to one of the allowed values',
    ]);
    expect(problems(document({ source, sink }, { matrix: [{ source: { type: 'cvs' } }] }))).toEqual(
      ['/matrix/0/source/type must be equal to one of the allowed values'],
    );
    expect(problems(document({ source, sink }, { auth: { shop: { type: 'stattic' } } }))).toEqual([
      '/auth/shop/type must be equal to one of the allowed values',
    ]);
  });

  it('knows the keys of every block', () => {
    expect(problems(document({ source, sink, transfroms: [] }, { pipelin: {} }))).toEqual(
      [
        '/pipeline must NOT have additional properties',
        ' must NOT have additional properties',
      ].toSorted(),
    );
  });

  it('leaves to rows what presets do not say', () => {
    expect(
      problems(
        document(
          { source, sink: { type: 'jsonl' } },
          { matrix: [{ sink: { config: { path: 'a.jsonl' } } }] },
        ),
      ),
    ).toEqual([]);
  });
});
