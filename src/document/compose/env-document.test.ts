import { describe, expect, it } from 'vitest';
import { documentFromEnv, type Variables } from './env-document.ts';
import { ConfigError } from '../../lib/errors.ts';

const MOVE = {
  SVC_SOURCE: 'csv',
  SVC_SOURCE_CSV_PATH: 'in.csv',
  SVC_SINK: 'jsonl',
  SVC_SINK_JSONL_PATH: 'out.jsonl',
};

function faults(variables: Variables): string[] {
  try {
    documentFromEnv(variables);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.issues.map(({ code, message }) => `${code} ${message}`);
    throw error;
  }
  return [];
}

describe('a document of environment variables', () => {
  it('has a source, a sink, a state store, transforms, variables and a name', () => {
    const { tree, values } = documentFromEnv({
      ...MOVE,
      SVC_NAME: 'people',
      SVC_STATE: 'file',
      SVC_STATE_FILE_PATH: 'state',
      SVC_TRANSFORM_1: 'select',
      SVC_TRANSFORM_1_FIELDS_JSON: '["id"]',
      SVC_TRANSFORM_2: 'cast',
      SVC_TRANSFORM_2_FIELDS: '{"id":"int"}',
      SVC_VARS_REGION: 'eu',
      OTHER: 'x',
    });
    expect(tree).toEqual({
      version: 1,
      name: 'people',
      vars: { region: 'eu' },
      pipeline: {
        source: { type: 'csv', config: { path: 'in.csv' } },
        sink: { type: 'jsonl', config: { path: 'out.jsonl' } },
        state: { type: 'file', config: { path: 'state' } },
        transforms: [
          { type: 'select', config: { fields: ['id'] } },
          { type: 'cast', config: { fields: { id: 'int' } } },
        ],
      },
    });
    expect(values).toContain('in.csv');
  });

  it('does not quote a value that is not JSON, which may be a secret', () => {
    const variables = { ...MOVE, SVC_SINK_JSONL_ENCRYPTION_JSON: '{"key": hunter22}' };
    const [fault = ''] = faults(variables);
    expect(fault).toMatch(/^bad_json `SVC_SINK_JSONL_ENCRYPTION_JSON` is not JSON/);
    expect(fault).not.toContain('hunter');
  });

  it('reads values as JSON where they are JSON, and kinds with a dash by an underscore', () => {
    const { tree } = documentFromEnv({
      ...MOVE,
      SVC_SOURCE: 'postgres-cdc',
      SVC_SOURCE_POSTGRES_CDC_BATCH_SIZE: '10',
      SVC_SOURCE_POSTGRES_CDC_LIVE: 'true',
      SVC_SOURCE_POSTGRES_CDC_SLOT: 'a b',
    });
    expect(tree['pipeline']).toMatchObject({
      source: { type: 'postgres-cdc', config: { batch_size: 10, live: true, slot: 'a b' } },
    });
  });

  it('takes several parts by name: a field belongs to the longest name that fits', () => {
    const { tree } = documentFromEnv({
      SVC_SOURCES_DEFAULT_TYPE: 'csv',
      SVC_SOURCES_DEFAULT_PATH: 'a',
      SVC_SOURCES_DEFAULT_OLD_TYPE: 'jsonl',
      SVC_SOURCES_DEFAULT_OLD_PATH: 'b',
      SVC_SINK: 'stdout',
    });
    expect(tree['pipeline']).toEqual({
      sources: {
        default: { type: 'csv', config: { path: 'a' } },
        default_old: { type: 'jsonl', config: { path: 'b' } },
      },
      sink: { type: 'stdout', config: {} },
    });
  });

  it('is the same by the names of Headgate and by those of the specification', () => {
    const ours = Object.entries(MOVE).map(([name, text]) => [
      name.replace('SVC', 'HEADGATE'),
      text,
    ]);
    expect(documentFromEnv(Object.fromEntries(ours) as Variables)).toEqual(documentFromEnv(MOVE));
    expect(documentFromEnv({ ...MOVE, HEADGATE_SOURCE: 'csv', HEADGATE_LOG: 'debug' })).toEqual(
      documentFromEnv(MOVE),
    );
  });

  it.each<[string, Variables, string]>([
    ['no source', { SVC_SINK: 'stdout' }, 'missing_variable `SVC_SOURCE` is not set'],
    ['no sink', { SVC_SOURCE: 'csv' }, 'missing_variable `SVC_SINK` is not set'],
    [
      'two forms of one field',
      { ...MOVE, SVC_SINK_JSONL_PATH_JSON: '"x"' },
      'conflicting_keys `SVC_SINK_JSONL_PATH` and `SVC_SINK_JSONL_PATH_JSON` are both set',
    ],
    [
      'two names of one variable that differ',
      { ...MOVE, HEADGATE_SINK_JSONL_PATH: 'other.jsonl' },
      'conflicting_keys `SVC_SINK_JSONL_PATH` and `HEADGATE_SINK_JSONL_PATH` are two names of one setting',
    ],
    [
      'nothing but a sink by our name',
      { HEADGATE_SINK: 'stdout' },
      'missing_variable `HEADGATE_SOURCE` is not set',
    ],
    [
      'broken JSON',
      { ...MOVE, SVC_SINK_JSONL_ENCRYPTION_JSON: '{' },
      'bad_json `SVC_SINK_JSONL_ENCRYPTION_JSON` is not JSON',
    ],
    [
      'a gap between transforms',
      { ...MOVE, SVC_TRANSFORM_2: 'drop' },
      'missing_variable `SVC_TRANSFORM_1` is not set, but there is a transform 2',
    ],
  ])('with %s is refused', (_what, variables, fault) => {
    expect(faults(variables)).toEqual([expect.stringContaining(fault)]);
  });
});
