/** What dead letters of a graph tell of the records of the source. */
import { expect, it } from 'vitest';
import { runGraph, type GraphDocument } from '../../../test/fakes/graph.ts';
import { fakeSink, fakeSource } from '../../../test/fakes/plan.ts';
import { jsonText, type JsonObject } from '../../lib/text/json.ts';

const RENAME = { type: 'rename_field', config: { fields: { mail: 'email' } } };

function graphWith(more: JsonObject = {}): GraphDocument {
  return {
    nodes: {
      in: { kind: 'source', type: 'in' },
      odd: {
        kind: 'transform',
        transforms: [{ type: 'filter', config: { path: 'n', op: 'ne', value: '1' } }, RENAME],
      },
      both: { kind: 'tee' },
      cast: {
        kind: 'transform',
        transforms: [{ type: 'cast', config: { fields: { n: 'int' }, on_error: 'dlq' } }],
      },
      out: { kind: 'sink', type: 'out' },
      rest: { kind: 'sink', type: 'rest' },
    },
    edges: [
      ['in', 'odd'],
      ['odd', 'both'],
      ['both', 'cast'],
      ['both', 'rest'],
      ['cast', 'out'],
    ],
    pipeline: { dlq: { sink: { type: 'dead' } }, ...more },
  };
}

const PAGES = [
  {
    records: [
      { n: '1', mail: 'a@b.c' },
      { n: '2', mail: 'd@e.f' },
    ],
  },
  {
    records: [
      { n: 'x', mail: 'g@h.i' },
      { n: '4', mail: 'j@k.l' },
    ],
  },
];

async function lettersOf(more?: JsonObject): Promise<readonly JsonObject[]> {
  const dead = fakeSink({ name: 'dlq' });
  const out = fakeSink({
    name: 'out',
    reject: (value) => (JSON.stringify(value).includes('"n":4') ? 'no four' : undefined),
  });
  const sinks = {
    out: out.definition,
    rest: fakeSink({ name: 'rest' }).definition,
    dead: dead.definition,
  };
  const sources = { in: fakeSource(PAGES) };
  const { status } = await runGraph(graphWith(more), { sources, sinks });
  expect(status).toBe('completed');
  const rows = (letter: JsonObject): string => jsonText(letter['row'] ?? null);
  return (dead.records as readonly JsonObject[]).toSorted((a, b) => (rows(a) < rows(b) ? -1 : 1));
}

it('is which one it was made of, as it was read', async () => {
  expect(await lettersOf()).toMatchObject([
    {
      row: 'cast',
      reason: 'transform',
      record_number: 3,
      payload: { n: 'x', email: 'g@h.i' },
      original: { n: 'x', mail: 'g@h.i' },
    },
    {
      row: 'out',
      reason: 'partial',
      record_number: 4,
      payload: { n: 4, email: 'j@k.l' },
      original: { n: '4', mail: 'j@k.l' },
    },
  ]);
});

it('has hidden what masking hides at the sinks under another name', async () => {
  const masking = {
    rules: [{ match: { fields: ['email'] }, action: { type: 'redact' } }],
  };
  const letters = await lettersOf({ masking });
  expect(JSON.stringify(letters)).not.toMatch(/@/);
  expect(letters).toMatchObject([
    // Behind the rename the graph has branches: nobody can say what becomes of which field.
    { row: 'cast', original: { n: '***', mail: '***' } },
    { row: 'out', payload: { n: 4, email: '***' }, original: { n: '***', mail: '***' } },
  ]);
});
