/** Masking, dead letters and accounts as an operator sees them, through the program. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { makeFolder } from './folder.ts';
import { launcherPath } from '../servers/bundle.ts';

const folder = makeFolder('governance');
afterAll(() => folder.remove());

const LAUNCHER = await launcherPath();
const jsonl = (path: string): object => ({ type: 'jsonl', config: { path } });

describe('a null without quotes', () => {
  it('is the word `null` where that is one of the words', async () => {
    folder.records('broken.jsonl', [{ id: 1, body: '{broken' }]);
    folder.write(
      'null.yaml',
      `version: 1
name: nulls
pipeline:
  source: {type: jsonl, config: {path: broken.jsonl}}
  transforms:
    - {type: json_parse, config: {fields: [body], on_error: null}}
    - {type: cast, config: {fields: {id: bool}, on_error: null}}
  sink: {type: jsonl, config: {path: nulls.jsonl}}
`,
    );
    const { code } = await folder.run(['run', 'null.yaml']);
    expect(code).toBe(0);
    expect(folder.lines('nulls.jsonl')).toEqual([{ id: true, body: null }]);
  });

  it('is refused as the type of a cast field, which would stay uncast without a word', async () => {
    folder.document('null-type.yaml', {
      source: jsonl('broken.jsonl'),
      transforms: [{ type: 'cast', config: { fields: { id: null } } }],
      sink: jsonl('out.jsonl'),
    });
    const { code, stderr } = await folder.run(['validate', 'null-type.yaml']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('transforms[0].config.fields.id');
  });
});

describe('masking', () => {
  const rules = (rule: object): object => ({ rules: [rule] });

  it('reaches the values that a fan-out row lists, and everything made of them', async () => {
    folder.records('people.jsonl', [{ mail: 'ada@x.io' }, { mail: 'bob@x.io' }]);
    folder.records('facts.jsonl', [{ id: 1 }]);
    folder.document(
      'fan.yaml',
      {
        source: jsonl('facts.jsonl'),
        sink: jsonl('fan-${people.who}.jsonl'),
        masking: rules({
          match: { fields: ['mail'] },
          action: { type: 'tokenize', prefix: 't_' },
        }),
      },
      {
        matrix: [
          { id: 'people', fan_out: { source: jsonl('people.jsonl'), select: 'mail', as: 'who' } },
          { id: 'facts', for_each: ['people'] },
        ],
      },
    );
    const { code, stdout, stderr } = await folder.run(['run', 'fan.yaml', '--output', 'json']);
    expect(code, stderr).toBe(0);
    expect(`${stdout}${stderr}`).not.toContain('@x.io');
    expect(stdout).toMatch(/"parent_key": "who=t_[0-9a-f]{16}"/);
  });

  it('does not let one value stand for several that a fan-out row lists', async () => {
    folder.document(
      'collapse.yaml',
      {
        source: jsonl('facts.jsonl'),
        sink: jsonl('collapse-${people.who}.jsonl'),
        masking: rules({ match: { value_detector: 'email' }, action: { type: 'redact' } }),
      },
      {
        matrix: [
          { id: 'people', fan_out: { source: jsonl('people.jsonl'), select: 'mail', as: 'who' } },
          { id: 'facts', for_each: ['people'] },
        ],
      },
    );
    const { code, stderr } = await folder.run(['run', 'collapse.yaml']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('masked_values_collide');
    expect(stderr).not.toContain('@x.io');
  });

  it('reaches dead letters where a rule names another sink', async () => {
    folder.records('cards.jsonl', [
      { id: 'x', mail: 'ada@x.io', note: 'mail ada@x.io' },
      { id: 1 },
    ]);
    folder.document('dlq.yaml', {
      source: jsonl('cards.jsonl'),
      sink: jsonl('kept.jsonl'),
      masking: rules({
        match: { fields: ['mail'] },
        action: { type: 'redact' },
        applies_to: ['sqlite'],
      }),
      contract: {
        version: '1',
        on_breach: 'quarantine',
        fields: [{ name: 'id', type: 'integer' }],
      },
      dlq: { sink: jsonl('dead.jsonl') },
    });
    const { code } = await folder.run(['run', 'dlq.yaml']);
    expect(code).toBe(0);
    expect(folder.lines('dead.jsonl')).toMatchObject([{ payload: { id: 'x', mail: '***' } }]);
  });

  it('finds card numbers that are numbers, and no other numbers', async () => {
    folder.write(
      'numbers.jsonl',
      '{"card":4111111111111111,"at":1700000000000,"id":1790000000000000000}\n',
    );
    folder.document('numbers.yaml', {
      source: jsonl('numbers.jsonl'),
      sink: jsonl('numbers-out.jsonl'),
      masking: rules({ match: { value_detector: 'credit_card' }, action: { type: 'partial' } }),
    });
    expect((await folder.run(['run', 'numbers.yaml'])).code).toBe(0);
    expect(folder.text('numbers-out.jsonl')).toBe(
      '{"card":"************1111","at":1700000000000,"id":1790000000000000000}\n',
    );
  });

  it.each([
    [{ type: 'redact' }, 1],
    [{ type: 'partial' }, 1],
    [{ type: 'hash' }, 0],
    [{ type: 'tokenize', prefix: 't' }, 0],
  ])('with %j of the key of an upsert ends validation with %i', async (action, ending) => {
    folder.document('key.yaml', {
      source: jsonl('people.jsonl'),
      sink: {
        type: 'sqlite',
        config: {
          database_url: 'k.db',
          table_name: 't',
          write_mode: 'upsert',
          column_mapping: 'auto_map',
          key: ['mail'],
        },
      },
      masking: rules({ match: { field_pattern: '(?i)MAIL' }, action }),
    });
    const { code, stderr } = await folder.run(['validate', 'key.yaml']);
    expect(Math.min(1, code ?? 9), stderr).toBe(ending);
    if (ending === 1) expect(stderr).toMatch(/pipeline\.masking\.rules\[0\]\.action.*`hash`/s);
  });
});

describe('a replay', () => {
  it('does not mask again what was masked, and masks what was mended', async () => {
    const document = (min: number): object => ({
      source: jsonl('people.jsonl'),
      sink: jsonl('replayed.jsonl'),
      masking: {
        key: 'k',
        rules: [
          { match: { fields: ['mail'] }, action: { type: 'hash' } },
          { match: { fields: ['name'] }, action: { type: 'tokenize', prefix: 'n_' } },
        ],
      },
      quality: {
        record: [{ type: 'compare', field: 'n', op: 'gte', value: min, on_failure: 'quarantine' }],
      },
      dlq: { sink: jsonl('queue.jsonl') },
    });
    folder.records('people.jsonl', [{ n: 1, mail: 'ada@x.io', name: 'Ada' }]);
    folder.document('strict.yaml', document(5));
    folder.document('mild.yaml', document(0));
    expect((await folder.run(['run', 'strict.yaml'])).code).toBe(0);
    const [letter] = folder.lines('queue.jsonl') as [{ payload: object }];
    folder.records('queue.jsonl', [
      letter,
      { ...letter, payload: { n: 2, mail: 'bob@x.io', name: 'Bob' } },
    ]);
    const { code, stderr } = await folder.run([
      'dlq',
      'replay',
      'mild.yaml',
      '--from',
      'queue.jsonl',
    ]);
    expect(code, stderr).toBe(0);
    const [masked, mended] = folder.lines('replayed.jsonl');
    expect(masked).toEqual(letter.payload);
    expect(mended).toEqual({
      n: 2,
      mail: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      name: expect.stringMatching(/^n_[0-9a-f]{16}$/) as string,
    });
  });
});

describe('the receipt', () => {
  it('says what `poison: drop` dropped, in text, log and JSON', async () => {
    const server = createServer((_request, response) => response.writeHead(503).end());
    await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    folder.records('two.jsonl', [{ id: 1 }, { id: 2 }]);
    folder.document(
      'drop.yaml',
      {
        source: jsonl('two.jsonl'),
        sink: { type: 'http', config: { url: `http://127.0.0.1:${port}/` } },
      },
      {
        resilience: {
          retry: { max_attempts: 1, base_ms: 1 },
          poison: { max_row_attempts: 2, action: 'drop' },
        },
      },
    );
    const { stderr, stdout } = await folder.run(['run', 'drop.yaml', '--output', 'json']);
    const text = await folder.run(['run', 'drop.yaml']);
    server.close();
    expect(stderr).toContain('withheld_poison=2');
    expect(text.stderr).toMatch(/2 records failed every attempt and were dropped/);
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ balance: { withheld: 2 }, withheld_by: { poison: 2 } }],
    });
  });

  it('counts the breaches of a contract that only warns, also those that threads found', async () => {
    folder.write('many.csv', `id\n${'x\n'.repeat(300_000)}1\n`);
    folder.document('warn.yaml', {
      source: { type: 'csv', config: { path: 'many.csv' } },
      transforms: [{ type: 'cast', config: { fields: { id: 'int' }, on_error: 'skip' } }],
      sink: jsonl('warned.jsonl'),
      contract: { version: '1', on_breach: 'warn', fields: [{ name: 'id', type: 'integer' }] },
    });
    const { stderr } = await folder.run(['run', 'warn.yaml']);
    expect(stderr).toContain('300,000 records broke the contract');
  });

  it('calls a row that did not run because another failed `skipped` in JSON', async () => {
    folder.document(
      'skip.yaml',
      { sink: jsonl('skip.jsonl') },
      {
        matrix: [
          { id: 'first', source: jsonl('absent.jsonl') },
          {
            id: 'second',
            source: jsonl('two.jsonl'),
            depends_on: ['first'],
            sink: jsonl('s.jsonl'),
          },
        ],
      },
    );
    const { stdout } = await folder.run(['run', 'skip.yaml', '--output', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({
      totals: { skipped: 1 },
      rows: [{ status: 'error' }, { status: 'skipped' }],
    });
  });
});

describe('two runs of one document on one state', () => {
  it('are one after the other: the second is told who holds it, and a dead run holds nothing', async () => {
    let hold = true;
    let onAsked = (): void => {};
    const server = createServer((_request, response) => {
      onAsked();
      if (!hold) response.end('[{"id":1}]');
    });
    await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const source = {
      type: 'rest',
      config: {
        base_url: `http://127.0.0.1:${port}`,
        path: '/',
        persist_cursor: true,
        state_key: 'items',
        pagination: { type: 'RecordFieldCursor', field: 'id', param: 'after', page_size: 9 },
      },
    };
    for (const state of [
      { type: 'file', config: { path: 'state' } },
      { type: 'sqlite', config: { database_url: 'sqlite:./state.db' } },
    ]) {
      hold = true;
      const asked = Promise.withResolvers<void>();
      onAsked = asked.resolve;
      folder.document('leased.yaml', { source, sink: jsonl('leased.jsonl'), state });
      const first = spawn(process.execPath, [LAUNCHER, 'run', 'leased.yaml'], { cwd: folder.path });
      await asked.promise;
      const { code, stderr } = await folder.run(['run', 'leased.yaml']);
      expect(code, stderr).toBe(1);
      expect(stderr).toMatch(
        new RegExp(
          `the state \`governance::row-0\` is in use by run .* \\(process ${first.pid} on`,
        ),
      );
      expect(stderr).toMatch(/\[state_held\][^]*ends in \d+ s/);
      first.kill('SIGKILL');
      hold = false;
      expect((await folder.run(['run', 'leased.yaml'])).code).toBe(0);
      expect((await folder.run(['run', 'leased.yaml'])).code, 'it was not given back').toBe(0);
    }
    server.closeAllConnections();
    server.close();
  });
});

describe('a comparison after a run with quarantine', () => {
  it('names what the dead-letter queue holds back, and finds what is really missing', async () => {
    folder.records('orders.jsonl', [
      { id: 1, n: 5 },
      { id: 2, n: -1 },
      { id: 3, n: -2.5 },
    ]);
    folder.document(
      'verified.yaml',
      {
        source: jsonl('orders.jsonl'),
        sink: {
          type: 'sqlite',
          config: {
            database_url: 'sqlite:verified.db',
            table_name: 't',
            column_mapping: 'auto_map',
            write_mode: 'upsert',
            key: ['id'],
            create_table: true,
          },
        },
        quality: {
          record: [{ type: 'compare', field: 'n', op: 'gte', value: 0, on_failure: 'quarantine' }],
        },
        dlq: { sink: jsonl('held.jsonl') },
      },
      { verify: { after_run: true } },
    );
    const { code, stderr } = await folder.run(['run', 'verified.yaml']);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('held_back=2');
    const green = await folder.run(['verify', 'verified.yaml']);
    expect(green.code, green.stderr).toBe(0);
    expect(green.stdout).toContain('2 records held back in the dead-letter queue');
    // A record that has changed since is not the one that waits.
    folder.records('orders.jsonl', [
      { id: 1, n: 5 },
      { id: 2, n: -7 },
      { id: 3, n: -2.5 },
    ]);
    const red = await folder.run(['verify', 'verified.yaml', '--json']);
    expect(red.code).toBe(1);
    expect(JSON.parse(red.stdout)).toMatchObject({
      held_back: 1,
      differences: [{ key: { id: 2 }, kind: 'missing_in_dest' }],
    });
  });
});

describe('a value that a transform cannot take', () => {
  const source = { type: 'csv', config: { path: 'amounts.csv' } };
  const cast = (onError: string): object => ({
    type: 'cast',
    config: { fields: { n: 'int' }, on_error: onError },
  });

  it('ends the run with record, field, value, place and what to do', async () => {
    folder.write('amounts.csv', `id,n\n1,5\n2,seven${'x'.repeat(500)}\n`);
    folder.document('cast.yaml', { source, transforms: [cast('error')], sink: jsonl('c.jsonl') });
    const { code, stderr } = await folder.run(['run', 'cast.yaml']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /transform `cast`: the value of `n` cannot be made `int` \(`pipeline\.transforms\[0\]`\): record 2 of the source, `n` is "sevenx+… \(507 characters\)/,
    );
    expect(stderr).toMatch(/hint: .*`dlq`/);
  });

  it('is not shown where a rule masks it, under a later name too', async () => {
    folder.write('amounts.csv', 'id,n\n1,secret\n');
    const masking = { rules: [{ match: { fields: ['m'] }, action: { type: 'redact' } }] };
    const rename = { type: 'rename_field', config: { fields: { n: 'm' } } };
    folder.document('hidden.yaml', {
      source,
      transforms: [cast('error'), rename],
      sink: jsonl('c.jsonl'),
      masking,
    });
    const { code, stderr } = await folder.run(['run', 'hidden.yaml']);
    expect(code).toBe(1);
    expect(stderr).toContain('`n` is (masked)');
    expect(stderr).not.toContain('secret');
    folder.document('hidden-dlq.yaml', {
      source,
      transforms: [cast('dlq'), rename],
      sink: jsonl('c.jsonl'),
      masking,
      dlq: { sink: jsonl('masked-dead.jsonl') },
    });
    expect((await folder.run(['run', 'hidden-dlq.yaml'])).code).toBe(0);
    expect(folder.lines('masked-dead.jsonl')).toMatchObject([{ payload: { id: '1', n: '***' } }]);
  });

  it('goes to the dead-letter queue as it was read, and a replay takes it from there', async () => {
    folder.write('amounts.csv', 'id,n\n1,5\n2,seven\n3,9\n');
    const transforms = [
      { type: 'set', config: { values: { seen: true } } },
      cast('dlq'),
      { type: 'json_parse', config: { fields: ['id'], on_error: 'dlq' } },
    ];
    folder.document('put-aside.yaml', {
      source,
      transforms,
      sink: jsonl('put.jsonl'),
      dlq: { sink: jsonl('aside.jsonl') },
    });
    const { code, stdout, stderr } = await folder.run([
      'run',
      'put-aside.yaml',
      '--output',
      'json',
    ]);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ balance: { read: 3, transformed: 3, written: 2, dead_lettered: 1 } }],
    });
    expect(folder.lines('aside.jsonl')).toMatchObject([
      {
        reason: 'transform',
        error: { kind: 'Transform' },
        payload: { id: '2', n: 'seven' },
        record_index: 1,
        record_number: 2,
      },
    ]);
    folder.write('aside.jsonl', folder.text('aside.jsonl').replace('"seven"', '"7"'));
    const again = await folder.run(['dlq', 'replay', 'put-aside.yaml', '--from', 'aside.jsonl']);
    expect(again.code, again.stderr).toBe(0);
    expect(folder.lines('put.jsonl')).toContainEqual({ id: 2, n: 7, seen: true });
  });

  it('cannot be put aside where there is no queue', async () => {
    folder.document('no-queue.yaml', { source, transforms: [cast('dlq')], sink: jsonl('c.jsonl') });
    const { code, stderr } = await folder.run(['validate', 'no-queue.yaml']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/pipeline\.transforms\[0\].*\[dlq_required\]/);
  });
});
