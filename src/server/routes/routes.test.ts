import { expect, test } from 'vitest';
import type { LogEvent } from '../../runs/service/runs.ts';
import type { DoctorReport } from '../../wire/doctor.ts';
import { startFixture } from '../../../test/support/server.ts';

async function* events(...list: LogEvent[]): AsyncGenerator<LogEvent> {
  yield* list;
}

test('the live log is replayed as server-sent events and ends, and goes on where a client has stopped', async () => {
  const { ask, script } = await startFixture();
  script.follow = () =>
    events(
      { type: 'log', seq: 7, line: 'INFO headgate: pipeline run starting' },
      { type: 'truncated', dropped: 7 },
      { type: 'end', seq: 8 },
      { type: 'log', seq: 8, line: 'never told' },
    );
  const answer = await ask('GET', '/v1/runs/run-1/logs');
  expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(answer.body).toBe(
    'id: 7\nevent: log\ndata: INFO headgate: pipeline run starting\n\n' +
      'event: truncated\ndata: 7 lines dropped: the reader fell behind\n\n' +
      'id: 8\nevent: end\ndata: done\n\n',
  );
  script.continueAfter = 6;
  const again = (id: string) =>
    ask('GET', '/v1/runs/run-1/logs', { headers: { 'last-event-id': id } });
  expect((await again('6')).body).toBe(answer.body);
  expect([(await again('8')).status, (await again('8')).body]).toEqual([204, '']);
  expect((await again('no number')).body).toBe(answer.body);
});

test('the log of an unknown run is a 404 in every form', async () => {
  const { ask } = await startFixture();
  for (const search of ['', '?format=jsonl', '?format=text'])
    expect((await ask('GET', `/v1/runs/absent/logs${search}`)).status).toBe(404);
});

const stored = [
  { seq: 3, ts: '2026-08-01T12:00:00.000Z', level: 'INFO', line: 'INFO headgate: one' },
  { seq: 4, ts: '2026-08-01T12:00:01.000Z', level: 'WARN', line: 'WARN headgate: "two" é' },
];

test('stored lines come as JSON lines, with a last object when lines were dropped', async () => {
  const { ask, script } = await startFixture();
  script.stored = { lines: stored, truncated: true };
  const answer = await ask('GET', '/v1/runs/run-1/logs?format=jsonl&after=2&limit=99999');
  expect(answer.headers['content-type']).toBe('application/x-ndjson');
  expect(
    answer.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([...stored, { truncated: true }]);
  expect(answer.body.endsWith('\n')).toBe(true);
  expect(script.ranges).toEqual([{ after: 2, limit: 10_000 }]);
});

test('stored lines come as text, with a last note when lines were dropped', async () => {
  const { ask, script } = await startFixture();
  script.stored = { lines: stored, truncated: true };
  const answer = await ask('GET', '/v1/runs/run-1/logs?format=text');
  expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(answer.body).toBe(
    'INFO headgate: one\nWARN headgate: "two" é\n(lines were dropped: the log is longer than what is kept of one run)\n',
  );
  expect(script.ranges).toEqual([{ after: undefined, limit: 1000 }]);
});

test.each(['jsonl', 'text'])('without stored lines %s is an empty body', async (format) => {
  const { ask } = await startFixture();
  const answer = await ask('GET', `/v1/runs/run-1/logs?format=${format}`);
  expect([answer.status, answer.body]).toEqual([200, '']);
});

test.each(['format=xml', 'format=', 'format=jsonl&after=x', 'format=jsonl&limit=x'])(
  'a log read with %s is a 400',
  async (search) => {
    const { ask } = await startFixture();
    expect((await ask('GET', `/v1/runs/run-1/logs?${search}`)).status).toBe(400);
  },
);

test('everything the catalogue lists has a schema', async () => {
  const { ask } = await startFixture();
  const catalog = (await ask('GET', '/v1/schemas', { as: 'viewer' })).json() as Record<
    'sources' | 'sinks' | 'transforms' | 'blocks',
    { name: string }[]
  >;
  expect(catalog).toEqual({
    sources: [{ name: 'csv', description: 'Reads CSV.' }],
    sinks: [{ name: 'jsonl', description: 'Writes JSON lines.' }],
    transforms: [{ name: 'drop', description: 'Drops fields.' }],
    state: ['file', 'memory'],
    blocks: [
      { name: 'state', description: 'Where bookmarks live.', placement: 'pipeline' },
      { name: 'sla', description: 'What is promised.', placement: 'top' },
    ],
  });
  for (const [kind, list] of [
    ['source', catalog.sources],
    ['sink', catalog.sinks],
    ['transform', catalog.transforms],
    ['block', catalog.blocks],
  ] as const) {
    for (const { name } of list) {
      const answer = await ask('GET', `/v1/schemas/${kind}/${name}`);
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: name,
      });
    }
  }
});

test('an alias answers with the schema of the part it names', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/v1/schemas/source/comma')).json()).toEqual(
    (await ask('GET', '/v1/schemas/source/csv')).json(),
  );
});

test('the schema of a connector tells its fields', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/v1/schemas/source/csv')).json()).toMatchObject({
    description: 'Reads CSV.',
    type: 'object',
    properties: { path: { type: 'string', description: 'The file.' } },
    required: ['path'],
    additionalProperties: false,
  });
});

test('the state block offers one variant for each store of this build', async () => {
  const { ask } = await startFixture();
  const schema = (await ask('GET', '/v1/schemas/block/state')).json() as {
    oneOf: { properties: { type: object; config: object } }[];
  };
  expect(schema.oneOf.map(({ properties }) => properties.type)).toEqual([
    { const: 'file' },
    { const: 'memory' },
  ]);
  expect(schema.oneOf[0]?.properties.config).toMatchObject({ required: ['path'] });
  expect(schema.oneOf[0]?.properties.config).not.toHaveProperty('$schema');
});

test.each([
  ['source/csw', 'there is no source called "csw" — did you mean `csv`?'],
  ['sink/csv', 'there is no sink called "csv" — known: jsonl'],
  ['block/constructor', 'there is no block called "constructor"'],
  ['state/file', 'there is no kind of schema called "state"'],
  ['sources/csv', 'there is no kind of schema called "sources" — did you mean `source`?'],
])('the schema of %s is a 404', async (path, message) => {
  const { ask } = await startFixture();
  const answer = await ask('GET', `/v1/schemas/${path}`);
  expect(answer.status).toBe(404);
  expect((answer.json() as { error: { message: string } }).error.message).toContain(message);
});

function report(...statuses: ('pass' | 'fail' | 'skip')[]): DoctorReport {
  const probes = statuses.map((status) => ({
    role: 'source' as const,
    connector: 'csv',
    name: 'read',
    status,
    elapsed_ms: 1,
    hint: 'secret99',
  }));
  return { invocations: [{ id: 'row-0', delivery: 'at-least-once', probes }] };
}

test('a preflight without a failed probe answers with the report', async () => {
  const given = report('pass', 'skip');
  const { ask, redactor } = await startFixture({ report: given });
  redactor.register('secret99');
  const answer = await ask('POST', '/v1/doctor', {
    body: { config: 'version: 1' },
    as: 'operator',
  });
  expect(answer.status).toBe(200);
  expect(answer.json()).toMatchObject({
    invocations: [{ probes: [{ status: 'pass', hint: '***' }, { status: 'skip' }] }],
  });
});

test('a failed probe is a 422 with the report as details', async () => {
  const given = report('fail', 'pass');
  const { ask } = await startFixture({ report: given });
  const answer = await ask('POST', '/v1/doctor', { body: { config: 'version: 1' } });
  expect(answer.status).toBe(422);
  expect(answer.json()).toEqual({
    error: { code: 'unprocessable', message: '1 of 2 preflight probes failed', details: given },
  });
});

test.each([{}, { config: 1 }, { config: 'a', config_format: 'toml' }, { config: 'a', name: 'b' }])(
  'a preflight of %j is a 400',
  async (body) => {
    const { ask } = await startFixture();
    expect((await ask('POST', '/v1/doctor', { body })).status).toBe(400);
  },
);

test('a document is planned without a run of it', async () => {
  const { ask, script } = await startFixture();
  const config =
    '{"version": 1, "pipeline": {"source": {"type": "csv", "config": {"path": "a.csv"}}, "sink": {"type": "jsonl", "config": {"path": "b.jsonl"}}}}';
  const answer = await ask('POST', '/v1/plan', { body: { config, name: 'planned' } });
  expect(answer.status).toBe(200);
  expect(answer.json()).toMatchObject({
    name: 'planned',
    rows: [{ source: { type: 'csv' }, sink: { type: 'jsonl' } }],
  });
  expect(script.submitted).toEqual([]);
});

test('a document that cannot be planned is refused with every problem at its place', async () => {
  const { ask } = await startFixture();
  const config = 'version: 1\npipeline:\n  source: { type: nowhere }\n  sink: { kind: jsonl }\n';
  const answer = await ask('POST', '/v1/plan', { body: { config } });
  expect(answer.status).toBe(422);
  expect(answer.json()).toMatchObject({
    error: {
      code: 'unprocessable',
      details: {
        issues: expect.arrayContaining([
          expect.objectContaining({
            line: 3,
            column: expect.any(Number),
            message: expect.any(String),
          }),
          expect.objectContaining({ line: 4 }),
        ]),
      },
    },
  });
});

test('liveness is an empty 200', async () => {
  const { ask } = await startFixture();
  const answer = await ask('GET', '/healthz', { as: null });
  expect([answer.status, answer.body]).toEqual([200, '']);
});

test.each([
  [{ historyOk: true, queueOk: true, draining: false }, 200, 'ready'],
  [{ historyOk: false, queueOk: true, draining: false }, 503, 'not_ready'],
  [{ historyOk: true, queueOk: false, draining: false }, 503, 'not_ready'],
  [{ historyOk: true, queueOk: true, draining: true }, 503, 'not_ready'],
])('readiness with %j is %i', async (state, status, word) => {
  const { ask, script } = await startFixture();
  script.readiness = { ...state, instances: 0 };
  const answer = await ask('GET', '/readyz', { as: null });
  expect(answer.status).toBe(status);
  expect(answer.json()).toEqual({
    status: word,
    history_ok: state.historyOk,
    queue_ok: state.queueOk,
    cluster: { enabled: false, instances: 0 },
  });
});

test('metrics are Prometheus text', async () => {
  const { ask } = await startFixture({ metricsText: async () => 'svc_build_info 1\n' });
  const answer = await ask('GET', '/metrics', { as: null });
  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(answer.body).toBe('svc_build_info 1\n');
});

test('the root tells name, version and where to go', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/', { as: null })).json()).toMatchObject({
    name: 'headgate',
    version: '0.0.0',
    links: { api: '/openapi.json' },
  });
});
