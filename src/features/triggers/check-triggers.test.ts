import { describe, expect, test } from 'vitest';
import { loadOptions, refusalOf } from '../../../test/fakes/documents.ts';
import { FAKE_PARTS } from '../../../test/fakes/parts.ts';
import { TRIGGERS } from '../../triggers/index.ts';
import { checkTriggers } from './check-triggers.ts';

const PIPELINE = '{source: {type: lines, config: {path: in}}, sink: {type: nowhere}}';
const FILES: Readonly<Record<string, string>> = {
  '/work/orders.yaml': `version: 1\npipeline: ${PIPELINE}`,
  '/work/tokens.yaml': `version: 1
pipeline:
  source: {type: lines, config: {path: 'in-\${trigger.object_key}-\${trigger.header.X}'}}
  sink: {type: nowhere}`,
  '/work/wrong.yaml': 'version: 1\npipeline:\n  source: {type: linse}\n  sink: {type: nowhere}',
};

function checked(text: string, files = FILES) {
  return checkTriggers('/work/triggers.yaml', {
    definitions: TRIGGERS,
    parts: FAKE_PARTS,
    cpus: 2,
    reading: {
      ...loadOptions(),
      readFile: (path) => {
        const found = path === '/work/triggers.yaml' ? text : files[path];
        if (found === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
        return new TextEncoder().encode(found);
      },
    },
  });
}

const problems = (text: string): string[] =>
  refusalOf(() => checked(text)).issues.map(
    ({ code, path, file = '', line }) => `${file.slice('/work/'.length)}:${line} ${code} ${path}`,
  );

const file = (...entries: string[]): string =>
  `version: 1\ntriggers:\n${entries.map((entry) => `  - {${entry}}\n`).join('')}`;

describe('a file of triggers', () => {
  test('gives every trigger with the defaults of its kind', () => {
    const { triggers } = checked(
      file(
        'name: hook, type: webhook, config: orders.yaml',
        'name: new, type: object_arrival, enabled: false, config: orders.yaml, store: {type: object_store_a, bucket: b}',
        'name: long, type: queue_depth, config: orders.yaml, queue: {type: queue_a, url: "redis://u", key: k}, run: {labels: {team: a}, timeout_secs: 60}',
      ),
    );
    expect(triggers).toMatchObject([
      { name: 'hook', enabled: true, config: { methods: ['POST'], debounce_secs: 0 }, run: {} },
      { enabled: false, config: { poll_interval_secs: 30, mode: 'per_object', start_at: 'now' } },
      { config: { threshold: 1, queue: { kind: 'list' } }, run: { timeout_secs: 60 } },
    ]);
  });

  test('tells what else is wrong with a document that has a token at fault', () => {
    const document = `version: 1
pipeline:
  source: {type: lines, config: {path: 'in-\${trigger.object_key}-\${env:NO_SUCH_VARIABLE}'}}
  sink: {type: nowehre}`;
    const files = { ...FILES, '/work/token.yaml': document };
    const text = file(
      'name: new, type: object_arrival, config: token.yaml, store: {type: object_store_a, bucket: b}',
    );
    expect(
      refusalOf(() => checked(text, files)).issues.map(({ code, line }) => `${line} ${code}`),
    ).toEqual(['3 missing_variable', '4 unknown_type']);
  });

  test('is refused with every problem of it and of its documents, at their lines', () => {
    const text = file(
      'name: a, type: webhook, config: wrong.yaml',
      'name: a, type: webhok, config: gone.yaml, methods: [PUT]',
      'name: b c, type: webhook, config: orders.yaml, methods: [], debounce: 3',
      'name: d, type: webhook, config: gone.yaml',
      `name: e, type: queue_depth, queue: {type: queue_b, brokers: b, topic: t, group: g, url: u}, threshold: 0, config: {version: 2, pipeline: ${PIPELINE}}`,
    );
    expect(problems(text)).toEqual([
      'triggers.yaml:4 duplicate_name triggers[1].name',
      'triggers.yaml:4 unknown_type triggers[1].type',
      'triggers.yaml:5 invalid_value triggers[2].name',
      'triggers.yaml:5 out_of_range triggers[2].methods',
      'triggers.yaml:5 unknown_key triggers[2].debounce',
      'triggers.yaml:6 file_unreadable triggers[3].config',
      'triggers.yaml:7 unknown_key triggers[4].queue.url',
      'triggers.yaml:7 out_of_range triggers[4].threshold',
      'wrong.yaml:3 unknown_type pipeline.source.type',
    ]);
  });

  test('that is not there, or names a document that is not, says where paths start', () => {
    const hints = (at: () => unknown): unknown[] => refusalOf(at).issues.map(({ hint }) => hint);
    const says = (start: string): unknown[] => [
      `check the path and the rights to it; relative paths start at the ${start}`,
    ];
    expect(hints(() => checked(file('name: a, type: webhook, config: gone.yaml')))).toEqual(
      says('folder of the file that names it'),
    );
    const reading = {
      ...loadOptions(),
      readFile: () => {
        throw Object.assign(new Error('gone'), { code: 'ENOENT' });
      },
    };
    const options = { definitions: TRIGGERS, parts: FAKE_PARTS, cpus: 2, reading };
    expect(hints(() => checkTriggers('/work/gone.yaml', options))).toEqual(says('working folder'));
  });

  test('whose document needs a parameter is refused, because no run would have it', () => {
    const params = '{day: {type: string, required: true}}';
    const text = file(
      `name: a, type: webhook, config: {version: 1, params: ${params}, pipeline: ${PIPELINE}}`,
    );
    expect(problems(text)).toEqual(['triggers.yaml:3 missing_param triggers[0].config.params.day']);
  });

  test('names a document or a template', () => {
    const text = file(
      'name: a, type: webhook',
      'name: b, type: webhook, config: orders.yaml, template: {id: orders}',
      'name: c, type: webhook, template: {id: orders, more: 1}',
    );
    expect(problems(text)).toEqual([
      'triggers.yaml:3 missing_key triggers[0].config',
      'triggers.yaml:4 invalid_value triggers[1].template',
      'triggers.yaml:5 unknown_key triggers[2].template.more',
    ]);
  });

  test('may refer to variables in its own fields, and holds rules between them', () => {
    const queue = 'type: queue_depth, config: orders.yaml, queue: {type: redis, key: k, url:';
    const { triggers } = checked(file(`name: a, ${queue} "redis://:\${env:NAME}@h"}`));
    expect(triggers[0]?.config).toMatchObject({ queue: { url: 'redis://:value@h' } });
    expect(
      problems(
        file(
          `name: a, ${queue} "\${env:NONE}"}`,
          `name: b, ${queue} "redis://h"}, threshold: 2, rearm_below: 3`,
        ),
      ),
    ).toEqual([
      'triggers.yaml:3 missing_variable triggers[0].queue.url',
      'triggers.yaml:4 invalid_value triggers[1].rearm_below',
    ]);
  });

  test('says which trigger a field belongs to', () => {
    const { issues } = refusalOf(() =>
      checked(
        file(
          'name: new, type: object_arrival, config: orders.yaml, store: {type: s3, bucket: b, kind: x}',
        ),
      ),
    );
    expect(issues.map(({ message }) => message)).toEqual(['trigger `new`: unknown key `kind`']);
  });

  test('needs its version and its list', () => {
    expect(problems('{}')).toEqual([
      'triggers.yaml:1 missing_key version',
      'triggers.yaml:1 missing_key triggers',
    ]);
    expect(problems('{version: 2, triggers: [], more: 1}')).toEqual([
      'triggers.yaml:1 invalid_value version',
      'triggers.yaml:1 unknown_key more',
    ]);
  });
});

describe('a document that a trigger runs', () => {
  test('may name the tokens of its kind, a group with any name', () => {
    const arrivals = 'name: n, type: object_arrival, store: {type: s3, bucket: b}';
    expect(problems(file(`${arrivals}, config: tokens.yaml`))).toEqual([
      'tokens.yaml:3 unknown_token pipeline.source.config.path',
    ]);
    const text = `source: {type: lines, config: {path: 'a-\${trigger.header.x-id}-\${trigger.fired_at}'}}, sink: {type: nowhere}`;
    expect(
      checked(file(`name: n, type: webhook, config: {version: 1, pipeline: {${text}}}`)).triggers,
    ).toHaveLength(1);
    expect(
      problems(file(`${arrivals}, mode: batch, run: {name: '{object_key}'}, config: orders.yaml`)),
    ).toEqual(['triggers.yaml:3 unknown_token triggers[0].run.name']);
  });

  test('is a submission, also where it is written out in the file', () => {
    const text = `version: 1
triggers:
  - name: n
    type: webhook
    config:
      version: 1
      schedule: {cron: '* * * * *'}
      pipeline: ${PIPELINE}
`;
    expect(problems(text)).toEqual([
      'triggers.yaml:7 schedule_refused triggers[0].config.schedule',
    ]);
  });
});
