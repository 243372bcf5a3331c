import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatJson, formatYaml } from './format-document.ts';

const MESSY = `# what this is for
# and why

pipeline:
    # the sink
    sink: {type: jsonl, config: {path: "a", tags: [x,  y]}}   # trailing
    source: # the source
        config:
            z: 1
            a: 2

        type: csv   # what

    transforms:
    -   config: {fields: [b, a]}
        type: drop
#comment without space
name:   foo
version: 1
`;

const NEAT = `# what this is for
# and why

version: 1
#comment without space
name: foo
pipeline:
  source:
    # the source
    type: csv # what
    config:
      z: 1
      a: 2

  transforms:
    - type: drop
      config: { fields: [b, a] }
  # the sink
  sink: { type: jsonl, config: { path: "a", tags: [x, y] } } # trailing
`;

describe('a YAML document', () => {
  it('gets a stable order and even indentation, and keeps its comments beside what they are about', () => {
    expect(formatYaml(MESSY, 'a.yaml')).toBe(NEAT);
  });

  it('is left alone when it is formatted', () => {
    expect(formatYaml(NEAT, 'a.yaml')).toBe(NEAT);
  });

  it('keeps its order where an alias would come before its anchor', () => {
    const aliased = 'pipeline:\n  sink: &s\n    type: a\n  source: *s\nversion: 1\n';
    expect(formatYaml(aliased, 'a.yaml')).toBe(aliased);
  });

  it('keeps texts exactly, whatever brackets they hold', () => {
    const text = `version: 1\nvars: { a: "[ x ]", b: '[ ', c: [" ]"] }\nname: "${'word '.repeat(40)}"\n`;
    expect(formatYaml(text, 'a.yaml')).toBe(
      `version: 1\nname: "${'word '.repeat(40)}"\nvars: { a: "[ x ]", b: '[ ', c: [" ]"] }\n`,
    );
  });

  it('keeps the order inside of config, vars and params', () => {
    const text =
      'version: 1\nvars: { type: 1, id: 2 }\npipeline: { source: { type: x, config: { sink: 1, source: 2 } } }\n';
    expect(formatYaml(text, 'a.yaml')).toBe(text);
  });

  it('that cannot be read is refused with its place', () => {
    expect(() => formatYaml('a: [1\nb: 2', 'a.yaml')).toThrow(
      expect.objectContaining({ code: 'bad_config', stage: 'parse' }),
    );
  });
});

describe('a JSON document', () => {
  it('gets the same order, and its numbers stay digit by digit', () => {
    const text =
      '{"pipeline":{"sink":{"config":{"n":9007199254740993},"type":"jsonl"},"source":{"type":"csv"}},"version":1}';
    const formatted = formatJson(text, 'a.json');
    expect(formatted.replaceAll(/\s/g, '')).toBe(
      '{"version":1,"pipeline":{"source":{"type":"csv"},"sink":{"type":"jsonl","config":{"n":9007199254740993}}}}',
    );
    expect(formatJson(formatted, 'a.json')).toBe(formatted);
  });
});

it.each(
  readdirSync('examples', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.yaml'),
  ),
)('the example %s is formatted as `headgate fmt` formats', (name) => {
  const text = readFileSync(`examples/${name}`, 'utf8');
  expect(formatYaml(text, name)).toBe(text);
});
