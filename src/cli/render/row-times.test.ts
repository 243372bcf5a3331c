import { describe, expect, it } from 'vitest';
import { plan } from '../../../test/fakes/documents.ts';
import { explainDocument, formatRow } from './explain-plan.ts';
import { chunksOf, partitionDocument } from '../../blocks/partition/explain.ts';
import { formatFanOut, timesOf } from './row-times.ts';

const RANGE = 'partition: {kind: integer, from: 1, to: 10, chunk_size: 4, bounds: inclusive}';
const made = plan(`version: 1
pipeline:
  source: {type: lines, config: {path: in}}
  sink: {type: nowhere}
matrix:
  - {id: regions, fan_out: {source: {type: lines, config: {path: r}}, select: $.region.code, as: code}}
  - {id: cities, for_each: [regions], collect: true, fan_out: {source: {type: lines, config: {path: "\${regions.code}"}}, select: $, as: all}}
  - {id: sales, for_each: [regions], source: {config: {path: "\${regions.code}"}}}
  - {id: parts, source: {config: {path: "\${partition.start}"}}, ${RANGE}}
  - {id: later, source: {config: {path: "\${partition.start}"}}, ${RANGE.replace('10', '{from_source: {type: lines, config: {path: m}}, value_path: $.m}')}}
  - {id: pages, source: {config: {path: "\${partition.offset}"}}, partition: {kind: offset, total: 3, chunk_size: 5}}
  - {id: none, source: {config: {path: "\${partition.offset}"}}, partition: {kind: offset, total: 0, chunk_size: 5}}
`);
const [sales, parts, later, pages, none] = made.rows;

describe('how often a row runs', () => {
  it('is described with its dimensions', () => {
    expect(made.rows.map(timesOf)).toEqual([
      'once for each value of row regions',
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(timesOf({ parent: undefined, forEach: ['a', 'b'] })).toBe(
      'once for each combination of the values of rows a, b',
    );
    expect(timesOf({ parent: { row: 'p', key: 'id', fields: [] }, forEach: [] })).toBe(
      'once for every record of row p',
    );
    expect(sales === undefined ? [] : formatRow(sales)[0]).toBe(
      'Reads from lines, once for each value of row regions.',
    );
  });

  it('is described by the first and the last chunk, or as something to be discovered', () => {
    const told = [parts, later, pages, none].map((row) =>
      row?.partition === undefined ? '' : chunksOf(row.partition),
    );
    expect(told).toEqual([
      '3 chunks by integer: 0 (1 to 4) … 2 (9 to 10)',
      'by integer, bound discovered at run time',
      '1 chunk by offset: 0 (3 from 0)',
      'by offset, none: the range is empty',
    ]);
  });

  it('is described to programs', () => {
    expect([sales, parts, later].map((row) => partitionDocument(row?.partition))).toEqual([
      null,
      {
        kind: 'integer',
        chunks: 3,
        first: { start: 1, end: 4, index: 0, id: '0' },
        last: { start: 9, end: 10, index: 2, id: '2' },
      },
      { kind: 'integer', chunks: null, note: 'bound discovered at run time' },
    ]);
    expect(explainDocument(made)).toMatchObject({
      products: 1,
      discoveries: [
        { id: 'regions', as: 'code' },
        { id: 'cities', for_each: ['regions'] },
      ],
    });
  });
});

it('a fan-out row is described by what it lists and what that is called', () => {
  expect(made.fanOuts.map(formatFanOut)).toEqual([
    'Lists the different values of `region.code` from lines as ${regions.code}.',
    'Lists the different values of `$` from lines as ${cities.all}, once for each value of row regions, as one text each.',
  ]);
});
