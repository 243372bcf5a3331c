import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lib/text/json.ts';
import { textFindings } from './text-findings.ts';

function codes(tree: JsonObject): string[] {
  return textFindings(tree).map((finding) => `${finding.severity} ${finding.code} ${finding.path}`);
}

describe('logins', () => {
  const auth = { login: { type: 'static', config: {} } };

  it('that are named but not declared are errors, wherever they are named', () => {
    const pipeline = {
      source: { type: 'rest', config: { auth: { ref: 'logn' } } },
      dlq: { sink: { type: 'x', config: { auth: { ref: 'other' } } } },
    };
    expect(codes({ pipeline })).toEqual([
      'error dangling-auth-ref pipeline.source.config.auth.ref',
      'error dangling-auth-ref pipeline.dlq.sink.config.auth.ref',
    ]);
    expect(textFindings({ auth, pipeline })[0]?.hint).toBe('did you mean `login`?');
  });

  it('that are declared but not named are doubtful', () => {
    expect(codes({ auth, pipeline: {} })).toEqual([
      'warning unreferenced-auth-provider auth.login',
    ]);
  });

  it('are fine when declared and named', () => {
    expect(codes({ auth, matrix: [{ source: { config: { auth: { ref: 'login' } } } }] })).toEqual(
      [],
    );
  });

  it('that a token names may be any of them', () => {
    expect(
      codes({ auth, pipeline: { source: { config: { auth: { ref: '${env:LOGIN}' } } } } }),
    ).toEqual([]);
  });
});

describe('variables', () => {
  it('are doubtful when nothing uses them', () => {
    expect(
      codes({ vars: { a: 1, 'b-c': '${vars.d}', d: 2 }, pipeline: { '${vars.b-c}': 1 } }),
    ).toEqual(['warning unused-var vars.a']);
  });
});

describe('batch sizes', () => {
  const pipeline = (source: JsonObject, sink: JsonObject): JsonObject => ({
    source: { type: 'a', config: source },
    sink: { type: 'b', config: sink },
  });

  it('of a sink are doubtful above the page size of the source', () => {
    expect(codes({ pipeline: pipeline({}, { batch_size: 1001 }) })).toEqual([
      'warning noop-batch-size pipeline.sink.config.batch_size',
    ]);
    expect(codes({ pipeline: pipeline({}, { batch_size: 1000 }) })).toEqual([]);
    expect(codes({ pipeline: pipeline({ batch_size: 5000 }, { batch_size: 5000 }) })).toEqual([]);
  });

  it('say nothing when a page or a batch has no limit', () => {
    expect(codes({ pipeline: pipeline({ batch_size: 0 }, { batch_size: 9000 }) })).toEqual([]);
    expect(codes({ pipeline: pipeline({}, { batch_size: 0 }) })).toEqual([]);
  });

  it('are judged for each row that changes them', () => {
    const matrix: JsonObject[] = [
      { sink: { config: { batch_size: 2000 } } },
      { sink: { config: { path: 'x' } } },
    ];
    expect(codes({ pipeline: pipeline({}, {}), matrix })).toEqual([
      'warning noop-batch-size matrix[0].sink.config.batch_size',
    ]);
  });
});
