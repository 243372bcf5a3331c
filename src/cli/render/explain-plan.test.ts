import { describe, expect, it } from 'vitest';
import { Redactor } from '../../lib/redact.ts';
import { loadDocument } from '../../document/load.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { explainDocument, introduce, formatRow } from './explain-plan.ts';
import { factsAbout } from '../../features/plan-view/row-checks.ts';

function planOf(document: object): Plan {
  const options = {
    format: 'json',
    origin: { kind: 'submitted' },
    variables: {},
    redactor: new Redactor(),
    secretManagers: parts.secrets,
  } as const;
  const readFile = (): never => {
    throw new Error('no files in this test');
  };
  return planDocument(
    loadDocument(JSON.stringify({ version: 1, name: 'test', ...document }), {
      ...options,
      readFile,
    }),
    parts,
    {
      cpus: 4,
    },
  );
}

function told(row: PlannedRow | undefined): string {
  if (row === undefined) throw new Error('expected a row');
  return formatRow(row).join('\n');
}

const source = { type: 'csv', config: { path: 'in.csv' } };
const sink = { type: 'jsonl', config: { path: 'out.jsonl' } };

describe('a simple document', () => {
  const plan = planOf({ pipeline: { source, sink } });

  it('is described from source to sink, with what happens to a bad record and what is promised', () => {
    expect(introduce(plan)).toEqual(['Pipeline test moves one set of records.']);
    const text = told(plan.rows[0]);
    expect(text).toContain(
      'Reads from csv (file://in.csv).\nRecords are passed on unchanged.\nWrites to jsonl (file://out.jsonl): records are added (append).',
    );
    expect(text).toContain(
      'A record that cannot be written fails the run: there is no dead-letter queue.',
    );
    expect(text).toContain('(at-least-once)');
    expect(text).toContain('Every run starts from the beginning: there is no state store.');
    expect(text).toContain('Records travel as raw jsonl bytes, without being taken apart');
  });
});

describe('a document with everything', () => {
  const plan = planOf({
    pipeline: {
      source,
      transforms: [
        { type: 'cast', config: { fields: { id: 'int' } } },
        { type: 'drop', config: { fields: ['x'] } },
      ],
      masking: { rules: [{ match: { fields: ['name'] }, action: { type: 'hash' } }] },
      dlq: { sink: { type: 'jsonl', config: { path: 'bad.jsonl' } }, max_failures_total: 5 },
      state: { type: 'file', config: { path: 'state' } },
    },
    matrix: [
      {
        id: 'table',
        sink: {
          type: 'sqlite',
          config: {
            database_url: 'sqlite:x.db',
            table_name: 't',
            column_mapping: 'auto_map',
            write_mode: 'upsert',
            key: ['id'],
          },
        },
      },
      {
        id: 'child',
        parent: 'table',
        depends_on: ['table'],
        sink: { type: 'jsonl', config: { path: 'out-${table.id}.jsonl' } },
        dlq: { sink: { type: 'jsonl', config: { path: 'bad-child.jsonl' } } },
      },
    ],
    execution: { max_concurrent: 2, on_error: 'stop' },
  });

  it('is introduced with its rows and how they run', () => {
    expect(introduce(plan)).toEqual([
      'Pipeline test has 2 rows; at most 2 of them run at the same time. When one fails, the others are stopped.',
    ]);
  });

  it('tells transforms, masking, keys, dead letters and their budget', () => {
    const text = told(plan.rows[0]);
    expect(text).toContain('Each record goes through cast, then drop.');
    expect(text).toContain('Fields are masked');
    expect(text).toContain('a record replaces the one with the same id, or is added (upsert)');
    expect(text).toContain(
      'A record that cannot be written goes to jsonl, with the reason beside it. More than 5 records in all fail the run.',
    );
    expect(text).toContain('(effectively-once, by key)');
    expect(text).toContain('the source keeps no bookmark, although there is a state store (file)');
  });

  it('tells of a child what is known, and claims nothing that its parent decides', () => {
    const text = told(plan.rows[1]);
    expect(text).toContain('Reads from csv (file://in.csv), once for every record of row table.');
    expect(text).toContain('Starts when table is done.');
    expect(text).toContain('Writes to jsonl: records are added (append).');
    expect(text).not.toContain('out-');
  });

  it('leaves open how a sink writes whose mode its parent decides', () => {
    const child = { id: 'child', parent: 'a', sink: { config: { write_mode: '${a.mode}' } } };
    const table = { type: 'sqlite', config: { database_url: 'sqlite:x.db', table_name: 't' } };
    const open = planOf({ pipeline: { source, sink: table }, matrix: [{ id: 'a' }, child] });
    expect(told(open.rows[1])).toContain('Writes to sqlite; how is settled when the row runs.');
  });

  it('is described to programs, too', () => {
    expect(explainDocument(plan)).toMatchObject({
      rows_total: 2,
      roots: 1,
      children: 1,
      incremental_rows: 0,
      rows: [
        {
          id: 'table',
          write_mode: 'upsert',
          key: ['id'],
          dead_letters: 'jsonl',
          state: 'file',
          state_key: 'test::table',
        },
        { id: 'child', role: 'child', parent: 'table' },
      ],
    });
  });
});

describe('what a row is held to', () => {
  const table = {
    type: 'sqlite',
    config: { database_url: 'sqlite:x.db', table_name: 't', column_mapping: 'auto_map' },
  };
  const rule = { match: { fields: ['a'] }, action: { type: 'redact' } };
  const [row] = planOf({
    sla: { min_rows_per_run: 10, max_staleness_secs: 60, volume_anomaly: {} },
    reconcile: {
      tolerance_pct: 5,
      count: { type: 'sqlite', config: { database_url: 'sqlite:x.db', query: 'select 1' } },
    },
    resilience: {
      retry: { max_attempts: 3, retry_on: ['timeout'] },
      circuit_breaker: { consecutive_failures: 2 },
      poison: { max_row_attempts: 4 },
    },
    metadata_columns: { columns: ['sequence'] },
    pipeline: {
      source,
      sink: table,
      schema: { on_drift: 'evolve' },
      masking: { rules: [rule, { ...rule, applies_to: ['jsonl'] }] },
      state: { type: 'file', config: { path: 'state' } },
      dlq: { sink },
    },
  }).rows;

  it('is described in words', () => {
    const text = told(row);
    for (const sentence of [
      'Fields that do not fit the columns of the destination change it: columns are added and widened.',
      'Each record gets _svc_sequence.',
      'What fails for a while is tried 3 times (timeout); a write only where a repeat changes nothing.',
      'A single record is tried 4 times, then it goes to the dead-letter queue.',
      'After 2 pages in a row of which nothing could be written the run stops.',
      'The run fails when fewer records were written than sqlite counts, 5 % less allowed.',
      'Fewer than 10 records in a run is a warning.',
      'A failure is a warning when the last success is more than 60 s ago.',
      'An unusual number of records is a warning.',
    ])
      expect(text).toContain(sentence);
  });

  it('is described in short, with the masking rules that count for its sink', () => {
    if (row === undefined) throw new Error('expected a row');
    expect(
      (['checks', 'retries', 'expects'] as const).flatMap((topic) =>
        factsAbout(topic, row).map(({ short }) => short),
      ),
    ).toEqual([
      'masking (1 rule)',
      'schema (on drift evolve)',
      '3 attempts',
      '4 attempts for a record, then dlq',
      'breaker at 2 pages',
      'count of sqlite, 5 % fewer allowed',
      'at least 10 records',
      'a success every 60 s',
      'usual volume (zscore)',
    ]);
  });
});
