import { GRAMMAR } from '../../../blocks/index.ts';
import { editorSchema } from '../../../document/editor-schema.ts';
import { secretValues } from '../../../document/secret-values.ts';
import { joinPath } from '../../../lib/text/text-path.ts';
import { defineLintRule } from '../define-rule.ts';

export const secretInTheOpen = defineLintRule({
  code: 'secret-in-the-open',
  severity: 'warning',
  summary: 'A password, key or token stands in the document as it is.',
  why: 'Documents are shared and kept in version control; a secret in one is known to everybody who sees it, and stays in its history.',
  fix: 'Put the value into an environment variable or a secrets manager, and name it: `${env:NAME}`, `${secret:NAME}`. Change a secret that was committed.',
  example: {
    bad: `version: 1
name: shop
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  contract: { version: '1', fields: [{ name: id, type: string }] }
  sink: { type: postgres, config: { connection_url: 'postgres://me:hunter2@db.example/shop', table_name: orders } }
`,
    good: `version: 1
name: shop
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  contract: { version: '1', fields: [{ name: id, type: string }] }
  sink: { type: postgres, config: { connection_url: 'postgres://db.example/shop', table_name: orders } }
`,
  },
  check: ({ tree, parts }) =>
    secretValues(tree, editorSchema(parts, GRAMMAR)).map(({ steps }) => {
      const [first = '', ...rest] = steps;
      const path = rest.reduce<string>((before, step) => joinPath(before, step), String(first));
      return { path, message: 'a secret stands here as it is' };
    }),
});
