import { defineLintRule } from '../define-rule.ts';

const PIPELINE = `pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

export const missingName = defineLintRule({
  code: 'missing-name',
  severity: 'warning',
  summary: 'The document has no name of its own.',
  why: 'Stored positions, metrics and the catalog go by the name. Without one it is that of the file: who renames the file starts over.',
  fix: 'Add `name:` at the top.',
  example: { bad: `version: 1\n${PIPELINE}`, good: `version: 1\nname: orders\n${PIPELINE}` },
  check: ({ tree, plan }) =>
    typeof tree['name'] === 'string'
      ? []
      : [
          {
            path: '',
            message: `the document has no \`name\`, and is called \`${plan.name}\` after its file`,
            fix: `add \`name: ${plan.name}\` at the top`,
          },
        ],
});
