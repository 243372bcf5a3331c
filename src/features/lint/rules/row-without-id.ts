import { isObject } from '../../../lib/text/json.ts';
import { joinPath } from '../../../lib/text/text-path.ts';
import { defineLintRule } from '../define-rule.ts';

export const rowWithoutId = defineLintRule({
  code: 'row-without-id',
  severity: 'warning',
  summary: 'A row of the matrix is known by its place only.',
  why: 'Its stored position goes by the place in the list: a row that is put above it takes over the position of another one.',
  fix: 'Give each row an `id`.',
  example: {
    bad: `version: 1
name: two
pipeline:
  source: { type: csv, config: { path: a.csv } }
matrix:
  - { sink: { type: jsonl, config: { path: a.jsonl } } }
`,
    good: `version: 1
name: two
pipeline:
  source: { type: csv, config: { path: a.csv } }
matrix:
  - { id: a, sink: { type: jsonl, config: { path: a.jsonl } } }
`,
  },
  check: ({ tree: { matrix } }) =>
    (Array.isArray(matrix) ? matrix : []).flatMap((row, index) =>
      isObject(row) && typeof row['id'] !== 'string'
        ? [
            {
              path: joinPath('matrix', index),
              message: `the row has no \`id\`, and is called \`row-${index}\``,
            },
          ]
        : [],
    ),
});
