import { describe, expect, test } from 'vitest';
import { issuesOf, load, plan } from '../../test/fakes/documents.ts';
import { FAKE_PARTS } from '../../test/fakes/parts.ts';
import { Registry } from '../kit/parts.ts';
import { planDocument } from './plan-document.ts';

const found = (text: string) => issuesOf(() => plan(text, {}, { format: 'json' }));
const document = (rest: string, config = '{"path":"a"}') =>
  `{"version":1,"pipeline":{"source":{"type":"lines","config":${config}},"sink":{"type":"nowhere"}}${rest}}`;

describe('nothing is accepted and ignored', () => {
  test.each<[string, string, string[]]>([
    [
      '`parent_key` without `parent`',
      document(',"matrix":[{"id":"a","parent_key":"id"}]'),
      ['missing_key matrix[0].parent_key'],
    ],
    ['`__proto__` at the top', document(',"__proto__":{"a":1}'), ['unknown_key __proto__']],
    [
      '`__proto__` in a row',
      document(',"matrix":[{"__proto__":{}}]'),
      ['unknown_key matrix[0].__proto__'],
    ],
    [
      '`__proto__` in a config',
      document('', '{"path":"a","__proto__":{"b":1}}'),
      ['unknown_key pipeline.source.config.__proto__'],
    ],
    [
      '`${bookmark}` in a source',
      document('', '{"path":"a-${bookmark}"}'),
      ['token_out_of_scope pipeline.source.config.path'],
    ],
    [
      '`${window.start}` in a source',
      document('', '{"path":"${window.start}"}'),
      ['token_out_of_scope pipeline.source.config.path'],
    ],
    [
      '`${now.date}` beside a group of `rename_keys`',
      document(
        ',"matrix":[{"transforms":[{"type":"rename_keys","config":{"pattern":"a","replacement":"${1}${now.date}"}}]}]',
      ),
      [
        'unknown_type matrix[0].transforms[0].type',
        'token_out_of_scope matrix[0].transforms[0].config.replacement',
      ],
    ],
    ['`${job_id}` in a name', document(',"name":"${job_id}"'), ['token_out_of_scope name']],
  ])('%s', (_title, text, issues) => {
    expect(found(text)).toEqual(issues);
  });

  test('`parent_key` with `parent` or null is fine', () => {
    const rows =
      ',"matrix":[{"id":"a","parent_key":null},{"id":"b","parent":"a","parent_key":"x","source":{"config":{"path":"${a.x}"}}}]';
    expect(plan(document(rows), {}, { format: 'json' }).rows).toHaveLength(2);
  });

  const into = (sink: string) =>
    `{"version":1,"pipeline":{"source":{"type":"lines","config":{"path":"a"}},"sink":{"type":"nowhere","config":${sink}}}}`;

  test('a sink that only appends may be told to, and to do nothing else', () => {
    const [row] = plan(into('{"write_mode":"append"}'), {}, { format: 'json' }).rows;
    expect(row?.sink?.config).toEqual({});
    expect(found(into('{"write_mode":"upsert"}'))).toEqual([
      'write_mode_unsupported pipeline.sink.config.write_mode',
    ]);
    expect(found(into('{"write_mode":"append","key":["id"]}'))).toEqual([
      'unknown_key pipeline.sink.config.key',
    ]);
  });

  test('a variable may have any name', () => {
    const text = document(',"vars":{"__proto__":"b"}', '{"path":"${vars.__proto__}"}');
    expect(plan(text, {}, { format: 'json' }).rows[0]?.source.parsed).toMatchObject({ path: 'b' });
  });
});

test('a source keeps the tokens that it fills in itself, and no others', () => {
  const sources = FAKE_PARTS.sources.all.map((source) =>
    source.type === 'lines' ? { ...source, ownTokens: ['bookmark'] } : source,
  );
  const planned = (path: string) =>
    planDocument(
      load(document('', `{"path":"${path}"}`)),
      { ...FAKE_PARTS, sources: new Registry(sources) },
      { cpus: 1 },
    );
  expect(planned('${bookmark}').rows[0]?.source.parsed).toMatchObject({ path: '${bookmark}' });
  expect(issuesOf(() => planned('${job_id}'))).toEqual([
    'token_out_of_scope pipeline.source.config.path',
  ]);
});

test('a preset that no row uses is held to the keys and types of its connector, and may be incomplete', () => {
  const unused = (preset: string) =>
    document('').replace(
      '"sink":',
      `"sources":{"spare":{"type":"lines","config":${preset}}},"sink":`,
    );
  expect(found(unused('{"path":"a","batchsize":3}'))).toEqual([
    'unknown_key pipeline.sources.spare.config.batchsize',
  ]);
  expect(found(unused('{"path":3}'))).toEqual(['wrong_type pipeline.sources.spare.config.path']);
  expect(plan(unused('{"batch_size":"${now.date}"}'), {}, { format: 'json' }).rows).toHaveLength(1);
});
