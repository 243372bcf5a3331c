import { z } from 'zod';
import { text } from '../../kit/schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import { renamedSchema, renamingTree } from './rename-tree.ts';

const WORDS: Readonly<Record<string, string>> = {
  '%': 'percent',
  '#': 'number',
  $: 'dollar',
  '&': 'and',
  '@': 'at',
  '+': 'plus',
  '*': 'star',
  '=': 'equals',
  '<': 'lt',
  '>': 'gt',
  '/': 'slash',
  '\\': 'backslash',
  '|': 'pipe',
  '^': 'caret',
  '~': 'tilde',
};

const schema = z.lazy(() =>
  z.strictObject({
    extra: z
      .record(text(), z.string())
      .default({})
      .meta({
        description:
          'More symbols and their words; they may have several characters, and may change the built-in words.',
        examples: [{ '>=': 'at least' }],
      }),
    separator: z.string().default(' ').meta({ description: 'Text before and after every word.' }),
  }),
);

export const spellSymbols = defineTransform<z.infer<typeof schema>>({
  type: 'spell_symbols',
  description:
    'Writes symbols in keys as words, at every depth. Longer symbols win over shorter ones.',
  config: schema,
  examples: [
    {
      config: {},
      input: [{ 'growth%': 1, a: [{ 'R&D': 2 }] }],
      output: [{ 'growth percent ': 1, a: [{ 'R and D': 2 }] }],
    },
    {
      config: { extra: { '>=': 'min' }, separator: '_' },
      input: [{ 'age>=5': 1, 'x>y': 2 }],
      output: [{ age_min_5: 1, x_gt_y: 2 }],
    },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'identity' }),
  schema: (config, input) => renamedSchema(input, spelling(config), 'error'),
  worksOnColumns: () => true,
  compile: (config) => renamingTree(spelling(config), 'error'),
});

function spelling({ extra, separator }: z.infer<typeof schema>): (key: string) => string {
  const words = new Map(Object.entries({ ...WORDS, ...extra }));
  const longestFirst = [...words.keys()].sort((a, b) => b.length - a.length);
  const symbols = new RegExp(longestFirst.map((symbol) => literal(symbol)).join('|'), 'gu');
  return (key) =>
    key.replaceAll(symbols, (symbol) => separator + (words.get(symbol) ?? '') + separator);
}

function literal(symbol: string): string {
  return symbol.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
