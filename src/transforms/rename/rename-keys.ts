import { z } from 'zod';
import { patternField } from '../../kit/pattern.ts';
import { defineTransform } from '../../kit/transform.ts';
import { re2js } from '../../lib/lazy.ts';
import { renamedSchema, renamingTree } from './rename-tree.ts';
import { replacing } from '../replacement.ts';

const schema = z.lazy(() =>
  z.strictObject({
    pattern: patternField('What to look for in every key.').meta({ examples: ['(?i)^id$'] }),
    replacement: z.string().meta({
      description:
        'Replacement of every match: `$1`, `$name` and `${name}` stand for groups, `$$` for a dollar sign.',
      examples: ['${1}_id'],
    }),
  }),
);

export const renameKeys = defineTransform<z.infer<typeof schema>>({
  type: 'rename_keys',
  description:
    'Replaces a pattern in every key at every depth. When two keys become one, the later value stays.',
  config: schema,
  examples: [
    {
      config: { pattern: '(?i)^Usr', replacement: 'user_' },
      input: [{ USRid: 1, a: [{ usrName: 'x' }] }],
      output: [{ user_id: 1, a: [{ user_Name: 'x' }] }],
    },
    {
      config: { pattern: '(?P<a>[a-z]+)-(\\d+)', replacement: '${2}_$a' },
      input: [{ 'x-1': 1 }],
      output: [{ '1_x': 1 }],
    },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  schema: (config, input) => renamedSchema(input, renaming(config), 'last_wins'),
  worksOnColumns: () => true,
  compile: (config) => renamingTree(renaming(config), 'last_wins'),
});

function renaming({ pattern, replacement }: z.infer<typeof schema>): (key: string) => string {
  return replacing(re2js().RE2JS.compile(pattern), replacement);
}
