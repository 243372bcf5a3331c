import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-governance-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(line: string): Promise<Done> {
  return runCommand(line.split(' '), testWiring(parts), { cwd });
}

const PLAIN = `version: 1
name: people
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sinks:
    lake: { type: jsonl, config: { path: lake.jsonl } }
    feed: { type: jsonl, config: { path: feed.jsonl } }
`;
const MATRIX = `matrix:
  - { id: a, sink: { ref: lake } }
  - { id: b, sink: { ref: feed } }
  - { id: c, sink: { ref: lake, config: { path: c.jsonl } } }
`;
const GOVERNED = `${PLAIN}  contract:
    version: '2'
    owner: crm
    on_breach: warn
    fields:
      - { name: id, type: integer, min: 1 }
      - { name: tier, type: string, enum: [free, paid], nullable: true, required: false }
  masking:
    key: hidden-key
    rules:
      - { name: mail, match: { value_detector: email, fields: [mail] }, action: { type: tokenize, prefix: m_ } }
      - { match: { field_pattern: phone }, action: { type: partial }, applies_to: [lake] }
      - { match: { fields: [x] }, action: { type: redact }, applies_to: [sqlite] }
${MATRIX}`;

function write(text: string): void {
  writeFileSync(path.join(cwd, 'headgate.yaml'), text);
}

describe('contract', () => {
  it('tells what readers may count on', async () => {
    write(GOVERNED);
    expect((await cli('contract')).out).toBe(
      'contract 2, kept by crm: 2 fields\nA record that breaks it is logged and counted. A record may have other fields, too.\n\n' +
        '  field  type                      limits\n  id     integer                   at least 1\n  tier   string or null, optional  one of "free", "paid"\n',
    );
  });

  it('is exported in three forms', async () => {
    write(GOVERNED);
    const { out } = await cli('contract --export contract');
    expect(out).toMatch(/^\{"allow_extra_fields":true,"fields":\[\{.*"version":"2"\}\n$/);
    expect(JSON.parse((await cli('contract --export json-schema')).out)).toMatchObject({
      'x-contract-version': '2',
      required: ['id'],
    });
    expect(JSON.parse((await cli('contract --export openlineage')).out)).toMatchObject({
      _producer: 'urn:headgate:1.2.3',
      contractVersion: '2',
    });
    expect(await cli('contract --export avro')).toMatchObject({ code: 2 });
  });

  it('is missed where there is none', async () => {
    write(PLAIN + MATRIX);
    expect(await cli('contract')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('no `pipeline.contract`') as string,
    });
  });
});

describe('masking', () => {
  it('lists the rules of each destination in the order in which they are tried, without the key', async () => {
    write(GOVERNED);
    const { code, out } = await cli('masking');
    expect(code).toBe(0);
    expect(out).toBe(
      'lake (jsonl)  rows a, c\n' +
        '  1. mail: the fields mail, or values that look like email → m_… and the start of a keyed hash\n' +
        '  2. rule_1: fields that match phone → all but the last 4 characters become *\n' +
        'feed (jsonl)  row b\n' +
        '  1. mail: the fields mail, or values that look like email → m_… and the start of a keyed hash\n' +
        '\n1 rule of 3 for destinations that are not written here\n',
    );
    expect(out).not.toContain('hidden-key');
  });

  it('is data for programs, of the rows that are asked for', async () => {
    write(GOVERNED);
    const { out } = await cli('masking --json --select b');
    expect(out).not.toContain('hidden-key');
    expect(JSON.parse(out)).toEqual({
      description: null,
      keyed: true,
      destinations: [
        {
          sink: 'jsonl',
          template: 'feed',
          rows: ['b'],
          rules: [
            {
              rule: 'mail',
              match: { value_detector: 'email', fields: ['mail'] },
              action: { type: 'tokenize', prefix: 'm_' },
            },
          ],
        },
      ],
    });
  });

  it('is missed where there is none', async () => {
    write(PLAIN + MATRIX);
    expect(await cli('masking')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('no `pipeline.masking`') as string,
    });
  });
});
