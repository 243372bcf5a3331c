import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeAt } from '../../console/src/author/place.ts';
import {
  describe as describeKey,
  keysAt,
  valuesOf,
  type SchemaNode,
} from '../../console/src/author/schema.ts';

const SCHEMA = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../schemas/headgate.schema.json'), 'utf8'),
) as SchemaNode;

/** What is offered at the bar. */
function offered(text: string): readonly string[] {
  const offset = text.indexOf('|');
  const { levels, valueKey } = placeAt(text.replace('|', ''), offset);
  const offers =
    valueKey === undefined ? keysAt(SCHEMA, levels) : valuesOf(SCHEMA, levels, valueKey);
  return offers.map(({ label }) => label);
}

describe('what is offered while a document is typed', () => {
  it('is the keys of the document at its beginning', () => {
    expect(offered('ver|')).toEqual(expect.arrayContaining(['version', 'name', 'pipeline']));
  });

  it('leaves out keys that are there already', () => {
    const keys = offered('version: 1\n|\npipeline:\n  source: {}\n');
    expect(keys).toContain('matrix');
    expect(keys).not.toContain('version');
    expect(keys).not.toContain('pipeline');
  });

  it.each([
    ['below its key', 'pipeline:\n  source:\n    ty|'],
    ['after another', 'pipeline:\n  source:\n    config: {}\n    |'],
    ['in brackets', 'pipeline:\n  source: { ty|'],
  ])('is the keys of a map %s', (_where, text) => {
    expect(offered(text)).toContain('type');
  });

  it.each([
    ['as a value', 'pipeline:\n  source:\n    type: |'],
    ['in brackets', 'pipeline:\n  source: { type: c|'],
  ])('is the kinds of sources %s', (_where, text) => {
    expect(offered(text)).toEqual(expect.arrayContaining(['csv', 'postgres']));
  });

  it.each([
    ['whose type stands before them', 'pipeline:\n  source:\n    type: csv\n    config:\n      |'],
    ['whose type comes after them', 'pipeline:\n  source:\n    config:\n      |\n    type: csv\n'],
    ['in brackets', 'pipeline:\n  source:\n    type: csv\n    config: { path: a.csv, |'],
    ['in brackets as a whole', 'pipeline:\n  source: { type: csv, config: { |'],
  ])('is the settings of the connector %s', (_where, text) => {
    const keys = offered(text);
    expect(keys).toEqual(expect.arrayContaining(['delimiter', 'encoding']));
    expect(keys).not.toContain('database_url');
  });

  it.each([
    ['of a list', 'pipeline:\n  transforms:\n    - type: cast\n      config:\n        |'],
    ['at the depth of its key', 'pipeline:\n  transforms:\n  - type: cast\n    config:\n      |'],
    [
      'after others',
      'pipeline:\n  transforms:\n    - { type: set }\n    - type: cast\n      config:\n        |',
    ],
  ])('is the settings of a transform %s', (_where, text) => {
    expect(offered(text)).toContain('fields');
  });

  it('is nothing where the schema knows nothing', () => {
    expect(offered('pipeline:\n  nonsense:\n    |')).toEqual([]);
  });

  it('is described', () => {
    const { levels } = placeAt('pipeline:\n  source:\n    type: csv\n', 24);
    expect(describeKey(SCHEMA, levels, 'type')).toMatch(/connector/i);
  });
});
