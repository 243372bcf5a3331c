import { describe, expect, test } from 'vitest';
import { issuesOf, plan, refusalOf } from '../../test/fakes/documents.ts';

const LIST = '{source: {type: lines, config: {path: codes}}, select: $.code, as: code}';
function document(rows: readonly string[], more = ''): string {
  const sink = 'sink: {type: nowhere}';
  return `version: 1\n${more}pipeline:\n  source: {type: lines, config: {path: in}}\n  ${sink}\nmatrix:\n${rows.map((row) => `  - ${row}\n`).join('')}`;
}
const regions = `{id: regions, fan_out: ${LIST}}`;
const reading = (token: string): string => `source: {config: {path: "${token}"}}`;

describe('a fan-out row (spec 2.8, rule 3)', () => {
  test('lists values, and rows that name it run for them after it', () => {
    const { rows, fanOuts } = plan(
      document([`{id: sales, for_each: [regions], ${reading('${regions.code}')}}`, regions]),
    );
    expect(fanOuts).toMatchObject([
      {
        role: 'discovery',
        id: 'regions',
        index: 1,
        select: ['code'],
        alias: 'code',
        collect: false,
      },
    ]);
    expect(rows).toMatchObject([
      {
        id: 'sales',
        role: 'product',
        forEach: ['regions'],
        dependsOn: ['regions'],
        stateKey: 'test::sales',
      },
    ]);
  });

  test('may be written `discover`, and select the whole record', () => {
    const { fanOuts } = plan(
      document([regions.replace('fan_out', 'discover').replace('$.code', '$')]),
    );
    expect(fanOuts[0]).toMatchObject({ select: [] });
  });

  test('starts from the preset it names, and else from none', () => {
    const sources =
      'pipeline:\n  sources: {codes: {type: lines, config: {path: base, batch_size: 5}, tags: [t], status: draft}}';
    const text = (source: string): string =>
      document([`{id: r, fan_out: {source: ${source}, select: a, as: a}}`]).replace(
        'pipeline:',
        sources,
      );
    const only = (source: string) =>
      plan(text(source), { selection: { status: ['draft'] } }).fanOuts[0];
    expect(only('{ref: codes, config: {path: own}}')).toMatchObject({
      source: { parsed: { path: 'own', batch_size: 5 }, preset: 'codes' },
      status: 'draft',
      tags: ['t'],
    });
    expect(only('{type: lines, config: {path: own}}')).toMatchObject({
      source: { parsed: { path: 'own', batch_size: 1000 } },
      tags: [],
    });
    expect(issuesOf(() => plan(text('{ref: none}')))).toEqual([
      'unknown_template matrix[0].fan_out.source.ref',
    ]);
  });

  test.each([
    [
      'what moves records',
      `{id: r, fan_out: ${LIST}, sink: {type: nowhere}, transforms: [], dlq: {sink: {type: nowhere}}}`,
      ['sink', 'transforms', 'dlq'],
    ],
    [
      'a parent or a partition',
      `{id: r, fan_out: ${LIST}, parent: a, partition: {kind: offset, total: 1, chunk_size: 1}}`,
      ['parent', 'partition'],
    ],
    ['a source of its own', `{id: r, fan_out: ${LIST}, source: {type: lines}}`, ['source']],
  ])('cannot have %s', (_what, row, keys) => {
    const reported = issuesOf(() => plan(document(['{id: a}', row])));
    expect(reported.filter((issue) => issue.startsWith('conflicting_keys'))).toEqual(
      keys.map((key) => `conflicting_keys matrix[1].${key}`),
    );
  });

  test('says what it reads, what it selects and how that is called', () => {
    const reported = (fanOut: string): string[] =>
      issuesOf(() => plan(document([`{id: r, fan_out: ${fanOut}}`])));
    expect(reported('{source: {config: {}}, select: "", as: A}')).toEqual([
      'missing_key matrix[0].fan_out.source',
      'out_of_range matrix[0].fan_out.select',
      'invalid_value matrix[0].fan_out.as',
    ]);
    expect(reported('{source: {type: lines, config: {path: x}}, select: $.a..b, as: a}')).toEqual([
      'invalid_path matrix[0].fan_out.select',
    ]);
    expect(reported('{source: {type: none}, select: a, as: a, at: 1}')).toContain(
      'unknown_key matrix[0].fan_out.at',
    );
    expect(
      issuesOf(() => plan(document([`{id: r, fan_out: ${LIST}, discover: ${LIST}}`]))),
    ).toEqual(['conflicting_keys matrix[0].discover']);
  });

  test('takes part in the selection of rows', () => {
    const text = document([
      regions,
      `{id: sales, for_each: [regions], tags: [x], ${reading('${regions.code}')}}`,
    ]);
    expect(refusalOf(() => plan(text, { selection: { tag: ['x'] } })).issues[0]?.message).toContain(
      'sales → regions (depends_on)',
    );
    const chosen = plan(text, { selection: { tag: ['x'], includeParents: 'eligible' } });
    expect([chosen.rows.length, chosen.fanOuts.length]).toEqual([1, 1]);
    const alone = plan(text, { selection: { select: ['regions'] } });
    expect([alone.rows, alone.unselected.map(({ id }) => id), alone.fanOuts.length]).toEqual([
      [],
      ['sales'],
      1,
    ]);
    const plain = plan(document([regions, '{id: plain}']), { selection: { select: ['plain'] } });
    expect([plain.fanOuts, plain.unselectedFanOuts.map(({ id }) => id)]).toEqual([[], ['regions']]);
  });
});

describe('`for_each`', () => {
  const reported = (row: string, more: readonly string[] = []): string[] =>
    issuesOf(() => plan(document([regions, ...more, row])));

  test('names fan-out rows, each once, and not itself', () => {
    expect(
      reported('{id: s, for_each: [regions, regions, s, none, plain]}', ['{id: plain}']),
    ).toEqual([
      'duplicate_name matrix[2].for_each[1]',
      'dependency_cycle matrix[2].for_each[2]',
      'unknown_row matrix[2].for_each[3]',
      'unknown_row matrix[2].for_each[4]',
    ]);
  });

  test('excludes a parent; and a fan-out row is none', () => {
    expect(reported('{id: s, for_each: [regions], parent: plain}', ['{id: plain}'])).toEqual([
      'conflicting_keys matrix[2].for_each',
    ]);
    expect(reported('{id: s, parent: regions}')).toEqual(['conflicting_keys matrix[1].parent']);
  });

  test('gives the tokens of its rows a value, and no others', () => {
    expect(reported(`{id: s, ${reading('${regions.code}')}}`)).toEqual([
      'token_out_of_scope matrix[1].source.config.path',
    ]);
    expect(
      reported(
        `{id: s, for_each: [regions], ${reading('${regions.name}${regions}${regions.code.deep}')}}`,
      ),
    ).toEqual([
      'unknown_token matrix[1].source.config.path',
      'unknown_token matrix[1].source.config.path',
    ]);
  });

  test('asks for every dimension in the path of a file that each invocation replaces', () => {
    const years = regions.replace('id: regions', 'id: years').replace('as: code', 'as: year');
    const row = (path: string): string =>
      `{id: s, for_each: [regions, years], sink: {type: lines, config: {path: "${path}"}}}`;
    expect(reported(row('${regions.code}'), [years])).toEqual([
      'output_clash matrix[2].sink.config',
    ]);
    expect(
      plan(document([regions, years, row('${regions.code}-${years.year}')])).rows,
    ).toHaveLength(1);
  });
});

describe('lists for each tuple (spec 2.8, rule 4)', () => {
  const cities = `{id: cities, for_each: [regions], collect: true, fan_out: {source: {type: lines, config: {path: "\${regions.code}"}}, select: c, as: names}}`;

  test('are waited for by whoever names them', () => {
    const { rows, fanOuts } = plan(
      document([`{id: s, for_each: [regions], ${reading('${cities.names}')}}`, cities, regions]),
    );
    expect(rows).toMatchObject([{ dependsOn: ['regions', 'cities'], collected: ['cities'] }]);
    expect(fanOuts).toMatchObject([
      { id: 'cities', collect: true, forEach: ['regions'], dependsOn: ['regions'] },
      { id: 'regions' },
    ]);
  });

  test('are asked for in so many words', () => {
    expect(
      issuesOf(() => plan(document([regions, cities.replace('collect: true, ', '')]))),
    ).toEqual(['missing_key matrix[1]']);
    expect(issuesOf(() => plan(document([`{id: r, collect: true, fan_out: ${LIST}}`])))).toEqual([
      'missing_key matrix[0].collect',
    ]);
    expect(issuesOf(() => plan(document(['{id: r, collect: true}'])))).toEqual([
      'conflicting_keys matrix[0].collect',
    ]);
  });

  test('may be asked for within the block, where some documents write it', () => {
    const inside = cities
      .replace('collect: true, ', '')
      .replace('as: names', 'as: names, collect: true');
    const { rows, fanOuts } = plan(
      document([`{id: s, for_each: [regions], ${reading('${cities.names}')}}`, inside, regions]),
    );
    expect(rows).toMatchObject([{ collected: ['cities'] }]);
    expect(fanOuts).toMatchObject([{ id: 'cities', collect: true }, { id: 'regions' }]);
    const alone = inside.replace('for_each: [regions], ', '').replace('fan_out', 'discover');
    expect(issuesOf(() => plan(document([alone])))).toContain(
      'missing_key matrix[0].discover.collect',
    );
    const twice = inside.replace('{id', '{collect: false, id');
    expect(issuesOf(() => plan(document([regions, twice])))).toContain(
      'conflicting_keys matrix[1].fan_out.collect',
    );
  });

  test('are no dimension, and belong to rows that run for the same values', () => {
    expect(
      issuesOf(() => plan(document([regions, cities, '{id: s, for_each: [cities]}']))),
    ).toEqual(['conflicting_keys matrix[2].for_each[0]']);
    expect(
      issuesOf(() => plan(document([regions, cities, `{id: s, ${reading('${cities.names}')}}`]))),
    ).toEqual(['token_out_of_scope matrix[2].source.config.path']);
  });

  test('cannot wait for each other in a circle', () => {
    const other = cities
      .replace('id: cities', 'id: towns')
      .replace('${regions.code}', '${cities.names}');
    expect(
      issuesOf(() =>
        plan(document([regions, cities.replace('${regions.code}', '${towns.names}'), other])),
      ),
    ).toEqual(['dependency_cycle matrix[1]']);
  });
});

describe('chunks of a row (spec 2.14)', () => {
  const range = 'partition: {kind: integer, from: 1, to: 10, chunk_size: 5, bounds: inclusive}';
  const chunked = reading('${partition.start}-${partition.end}');

  test('come from the block of the document for rows that run once, or from that of the row', () => {
    const rows = [
      `{id: a, ${chunked}}`,
      '{id: b, partition: null}',
      `{id: c, ${chunked}, partition: {kind: offset, total: 3, chunk_size: 1}}`.replace(
        'start}-${partition.end',
        'offset',
      ),
      regions,
      `{id: d, for_each: [regions], ${reading('${regions.code}')}}`,
    ];
    const count = plan(document(rows, `${range}\n`)).rows.map(({ id, partition }) => [
      id,
      partition?.chunks?.length,
    ]);
    expect(count).toEqual([
      ['a', 2],
      ['b', undefined],
      ['c', 3],
      ['d', undefined],
    ]);
  });

  test('are known only at run time where a source knows the bound', () => {
    const probe = range.replace(
      'to: 10',
      'to: {from_source: {type: lines, config: {path: max}}, value_path: $.n}',
    );
    const [row] = plan(document([`{id: a, ${chunked}, ${probe}}`])).rows;
    expect(row?.partition).toMatchObject({
      chunks: undefined,
      probe: { source: { type: 'lines' }, valuePath: '$.n' },
    });
    expect(
      issuesOf(() =>
        plan(document([`{id: a, ${chunked}, ${probe.replace('type: lines', 'type: none')}}`])),
      ),
    ).toEqual(['unknown_type matrix[0].partition.to.from_source.type']);
  });

  test('have to be read by the source, by tokens that there are', () => {
    expect(issuesOf(() => plan(document([`{id: a, ${range}}`])))).toEqual([
      'partition_unused pipeline.source.config',
    ]);
    expect(
      issuesOf(() => plan(document([`{id: a, ${range}, ${reading('${partition.offset}')}}`]))),
    ).toEqual(['unknown_token matrix[0].source.config.path']);
    expect(issuesOf(() => plan(document([`{id: a, ${chunked}}`])))).toEqual([
      'token_out_of_scope matrix[0].source.config.path',
      'token_out_of_scope matrix[0].source.config.path',
    ]);
  });

  test('that cannot be cut are reported once, not again at each of their tokens', () => {
    const rows = (more: string): string[] => [`{id: a, ${chunked}, ${more}}`];
    expect(issuesOf(() => plan(document(rows(range.replace('from: 1', 'from: 11')))))).toEqual([
      'out_of_range matrix[0].partition',
    ]);
    expect(issuesOf(() => plan(document(rows(range.replace(', bounds: inclusive', '')))))).toEqual([
      'missing_key matrix[0].partition.bounds',
    ]);
    expect(
      issuesOf(() => plan(document([`{id: a, ${chunked}}`], 'partition: {kind: days}\n'))),
    ).toEqual(['invalid_value partition.kind']);
  });

  test('have tokens that are ended', () => {
    expect(
      issuesOf(() =>
        plan(document([`{id: a, ${range}, ${reading('${partition.start}-${partition.end')}}`])),
      ),
    ).toEqual(['invalid_token matrix[0].source.config.path']);
    const escaped = reading('${partition.start}-$${partition.end');
    expect(plan(document([`{id: a, ${range}, ${escaped}}`])).rows).toHaveLength(1);
  });

  test('are nothing that other rows wait for or run for', () => {
    const rows = [
      `{id: a, ${range}, ${chunked}}`,
      '{id: b, depends_on: [a]}',
      '{id: c, parent: a}',
    ];
    expect(issuesOf(() => plan(document(rows)))).toEqual([
      'partition_referenced matrix[1].depends_on',
      'partition_referenced matrix[2].parent',
    ]);
  });

  test('write files of their own where each would replace it', () => {
    const row = (path: string): string =>
      `{id: a, ${range}, ${chunked}, sink: {type: lines, config: {path: "${path}"}}}`;
    expect(issuesOf(() => plan(document([row('out')])))).toEqual([
      'output_clash matrix[0].sink.config',
    ]);
    expect(plan(document([row('out-${partition.id}')])).rows).toHaveLength(1);
  });

  test('are not counted against an authority, which is reported', () => {
    const text = document(
      [`{id: a, ${range}, ${chunked}}`],
      'reconcile: {count: {type: lines, config: {path: n}}}\n',
    );
    expect(plan(text).warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'without_effect reconcile',
    ]);
  });
});
