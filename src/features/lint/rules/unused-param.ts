import { isObject, stringifyJson } from '../../../lib/text/json.ts';
import { joinPath } from '../../../lib/text/text-path.ts';
import { defineLintRule } from '../define-rule.ts';

export const unusedParam = defineLintRule({
  code: 'unused-param',
  severity: 'warning',
  summary: 'A parameter is asked for, and nothing uses it.',
  why: 'Whoever runs the document believes that the value matters.',
  fix: 'Write `${param.NAME}` where it belongs, or remove it.',
  example: {
    bad: `version: 1
name: day
params: { day: { type: string, default: today } }
pipeline:
  source: { type: csv, config: { path: a.csv } }
  sink: { type: jsonl, config: { path: a.jsonl } }
`,
    good: `version: 1
name: day
params: { day: { type: string, default: today } }
pipeline:
  source: { type: csv, config: { path: '\${param.day}.csv' } }
  sink: { type: jsonl, config: { path: a.jsonl } }
`,
  },
  check: ({ tree }) => {
    const declared = isObject(tree['params']) ? Object.keys(tree['params']) : [];
    const text = stringifyJson(tree);
    return declared
      .filter((name) => !text.includes(`\${param.${name}`) && !text.includes(`\${params.${name}`))
      .map((name) => ({
        path: joinPath('params', name),
        message: `nothing uses the parameter \`${name}\``,
        fix: `write \`\${param.${name}}\` where it belongs, or remove it`,
      }));
  },
});
