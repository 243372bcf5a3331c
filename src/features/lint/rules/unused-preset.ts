import { isObject, stringifyJson } from '../../../lib/text/json.ts';
import { joinPath } from '../../../lib/text/text-path.ts';
import { defineLintRule, type LintSubject } from '../define-rule.ts';
import { everyRow } from '../writing.ts';

export const unusedPreset = defineLintRule({
  code: 'unused-preset',
  severity: 'warning',
  summary: 'No row uses an entry of `pipeline.sources` or `pipeline.sinks`.',
  why: 'It was forgotten, or a row names another one by mistake.',
  fix: 'Name it in a row with `ref`, or remove it.',
  example: {
    bad: `version: 1
name: two
pipeline:
  source: { type: csv, config: { path: a.csv } }
  sinks:
    files: { type: jsonl, config: { path: a.jsonl } }
    other: { type: jsonl, config: { path: b.jsonl } }
matrix:
  - { id: a, sink: { ref: files } }
`,
    good: `version: 1
name: two
pipeline:
  source: { type: csv, config: { path: a.csv } }
  sinks:
    files: { type: jsonl, config: { path: a.jsonl } }
matrix:
  - { id: a, sink: { ref: files } }
`,
  },
  check: (subject) => (['sources', 'sinks'] as const).flatMap((kind) => unused(subject, kind)),
});

function unused({ tree, plan }: LintSubject, kind: 'sources' | 'sinks') {
  const { pipeline } = tree;
  const presets = isObject(pipeline) && isObject(pipeline[kind]) ? pipeline[kind] : {};
  const role = kind === 'sources' ? 'source' : 'sink';
  const used = new Set(everyRow(plan).map((row) => row[role].preset));
  // Nodes, dead-letter queues and rows that list values name them too, and tokens read them.
  const text = stringifyJson(tree);
  const isNamed = (name: string): boolean =>
    text.includes(`"ref":${JSON.stringify(name)}`) || text.includes(`\${${kind}.${name}`);
  return Object.keys(presets)
    .filter((name) => !used.has(name) && !isNamed(name))
    .map((name) => ({
      path: joinPath('pipeline', kind, name),
      message: `no row uses the ${role} \`${name}\``,
      fix: `name it with \`${role}: { ref: ${name} }\`, or remove it`,
    }));
}
