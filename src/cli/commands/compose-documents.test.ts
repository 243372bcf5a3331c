import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseText } from '../../document/parse/parse.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import {
  type Done,
  type TestWorldOptions,
  runCommand,
  testWiring,
} from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-compose-'));
  mkdirSync(path.join(cwd, 'shared'));
  write('shared/base.yaml', BASE);
  write('shared/source.yaml', SOURCE);
  write('headgate.yaml', MAIN);
  write('people.csv', 'name,age\nAda,36\n');
});
afterEach(() => rmSync(cwd, { recursive: true }));

const BASE = `version: 1
profiles:
  prod: { vars: { out: prod } }
  test: { vars: { out: test } }
vars: { out: dev }
pipeline:
  source: !include source.yaml
`;
const SOURCE = `type: csv
config:
  path: \${param.file}
`;
const MAIN = `extends: shared/base.yaml
params:
  file: { required: true }
  token: { secret: true, default: nothing }
  empty: { default: something }
pipeline:
  sink: { type: jsonl, config: { path: '\${vars.out}-\${env:WHO}.jsonl' } }
`;

async function cli(line: string, variables: TestWorldOptions['variables'] = {}): Promise<Done> {
  return runCommand(line.split(' '), testWiring(parts), {
    cwd,
    variables: { WHO: 'me', ...variables },
  });
}

function write(name: string, text: string): void {
  writeFileSync(path.join(cwd, name), text);
}

describe('a document of several files', () => {
  it('runs', async () => {
    expect(await cli('run --quiet --param file=people.csv')).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(path.join(cwd, 'dev-me.jsonl'), 'utf8')).toBe(
      '{"name":"Ada","age":"36"}\n',
    );
  });

  it('is shown merged, with its tokens and without what merged it', async () => {
    const { out } = await cli('validate --show-composed --profile prod');
    expect(parseText(out, 'yaml', { kind: 'submitted' }).tree).toEqual({
      version: 1,
      vars: { out: 'prod' },
      params: {
        file: { required: true },
        token: { secret: true, default: '***' },
        empty: { default: 'something' },
      },
      pipeline: {
        source: { type: 'csv', config: { path: '${param.file}' } },
        sink: { type: 'jsonl', config: { path: '${vars.out}-${env:WHO}.jsonl' } },
      },
    });
  });

  it('is shown as it is written when it is a single file', async () => {
    const text = '# mine\nversion:   1\n';
    write('single.yaml', text);
    expect(await cli('validate single.yaml --show-composed')).toEqual({
      code: 0,
      out: text,
      err: '',
    });
  });

  it('is shown with its secrets masked, and otherwise as it is written', async () => {
    const text = (password: string, token: string): string =>
      `# mine\nvars: &v {pw: ${password}}\npipeline:\n  source: {type: csv}  # ends here\n  dlq: {sink: {type: http, config: {headers: {X-Key: ${token}}}}}\n`;
    write('secrets.yaml', text('hunter2', 'canary-1'));
    expect(await cli('validate secrets.yaml --show-composed')).toEqual({
      code: 0,
      out: text('hunter2', '"***"'),
      err: '',
    });
    write('secrets.yaml', `${text('hunter2', "'${vars.pw}'")}# hunter2\n`);
    expect((await cli('validate secrets.yaml --show-composed')).out).toBe(
      `${text('"***"', "'${vars.pw}'")}# ***\n`,
    );
  });

  it('tells a fault in its own file', async () => {
    write('shared/source.yaml', SOURCE.replace('csv', 'cvs'));
    const { err } = await cli('validate');
    expect(err).toContain(
      'shared/source.yaml:1:1  pipeline.source.type  there is no source called `cvs`',
    );
    write('shared/base.yaml', BASE.replace('out: dev }', 'out: dev, idle: 1 }'));
    expect((await cli('doctor --offline')).err).toContain(
      'shared/base.yaml:5:19  warning  vars.idle',
    );
  });

  it('is formatted without its files', async () => {
    write('list.yaml', 'pipeline:   !include gone.yaml\nversion: 1\n');
    expect((await cli('fmt list.yaml')).code).toBe(0);
    expect(readFileSync(path.join(cwd, 'list.yaml'), 'utf8')).toBe(
      'version: 1\npipeline: !include gone.yaml\n',
    );
  });
});

describe('the profile', () => {
  it.each([
    ['plan', {}, 'dev'],
    ['plan', { SVC_PROFILE: 'test' }, 'test'],
    ['plan', { SVC_PROFILE: 'test', FAUCET_PROFILE: 'prod' }, 'prod'],
    ['plan --profile test', { FAUCET_PROFILE: 'prod' }, 'test'],
    ['plan', { HEADGATE_PROFILE: 'prod' }, 'prod'],
    ['plan', { FAUCET_PROFILE: '' }, 'dev'],
  ])('of %s with %j is %s', async (line, variables, expected) => {
    expect((await cli(line, variables)).out).toContain(`file://${expected}-me.jsonl`);
  });

  it('may come from .env', async () => {
    write('.env', 'FAUCET_PROFILE=prod\n');
    expect((await cli('plan')).out).toContain('file://prod-me.jsonl');
  });

  it('must be declared', async () => {
    const { code, err } = await cli('plan --profile stage');
    expect(code).toBe(1);
    expect(err).toContain('there is no profile `stage`  (there are: prod, test)');
  });
});

describe('parameters', () => {
  it('are stood in for where nothing runs, unless one is given', async () => {
    const checked = await cli('validate --json');
    expect(JSON.parse(checked.out)).toMatchObject({
      valid: true,
      params: { file: '<param>', token: '***' },
    });
    for (const line of ['run', 'preview', 'doctor', 'validate --param token=abcd']) {
      const { code, err } = await cli(line);
      expect([line, code]).toEqual([line, 1]);
      expect(err).toContain('the parameter `file` is required');
    }
  });

  it('that are secret are shown nowhere', async () => {
    write('shared/source.yaml', SOURCE.replace('.file', '.token'));
    for (const line of ['run', 'plan', 'explain', 'validate --json', 'preview', 'doctor --json']) {
      const { out, err } = await cli(`${line} --param file=x --param token=canary-9.csv`);
      expect([line, `${out}${err}`.includes('canary-9')]).toEqual([line, false]);
    }
  });

  it('of variables hold for one run only', async () => {
    const variables = Object.freeze({ FROM: 'abc' });
    expect((await cli('plan --param-env WHO=you', variables)).out).toContain(
      'file://dev-you.jsonl',
    );
    write('headgate.yaml', MAIN.replace('env:WHO', 'env:FROM'));
    expect((await cli('plan --param-env FROM', variables)).out).toContain('file://dev-abc.jsonl');
    expect((await cli('plan --param-env FROM=me', variables)).out).toContain('file://dev-me.jsonl');
    expect((await cli('plan --param-env GONE')).err).toContain(
      '--param-env GONE: there is no such variable',
    );
  });

  it('may hold an equals sign, or nothing', async () => {
    expect(
      JSON.parse((await cli('validate --json --param file=a --param empty=')).out),
    ).toMatchObject({ params: { empty: '' } });
    expect((await cli('plan --param file=a=b.csv')).out).toContain('file://a=b.csv');
  });
});

it('what is shown composed reads back as the same document', () => {
  const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), value), (tree) => {
      const text = JSON.stringify(tree);
      fc.pre(
        text.isWellFormed() &&
          !text.includes('\\u0000') &&
          !text.includes('-0') &&
          !text.includes('"<<"') &&
          // YAML cannot hold these two code points as they are, and its writer leaves them.
          !/[\uFFFE\uFFFF]/.test(text) &&
          Object.keys(tree).length > 0,
      );
      const read = parseText(text, 'json', { kind: 'submitted' }).tree;
      const shown = stringify(read, { lineWidth: 0, aliasDuplicateObjects: false });
      expect(parseText(shown, 'yaml', { kind: 'submitted' }).tree).toEqual(read);
    }),
  );
});
