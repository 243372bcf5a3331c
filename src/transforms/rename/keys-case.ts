import { z } from 'zod';
import { defineTransform } from '../../kit/transform.ts';
import { renamedSchema, renamingTree } from './rename-tree.ts';

const STYLES = {
  snake: (words: readonly string[]) => words.map(lower).join('_'),
  kebab: (words: readonly string[]) => words.map(lower).join('-'),
  dot: (words: readonly string[]) => words.map(lower).join('.'),
  screaming_snake: (words: readonly string[]) => words.map((word) => word.toUpperCase()).join('_'),
  pascal: (words: readonly string[]) => words.map(raised).join(''),
  camel: (words: readonly string[]) =>
    words.map((word, i) => (i === 0 ? lower(word) : raised(word))).join(''),
} as const;

function lower(word: string): string {
  return word.toLowerCase();
}

function raised(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length).toLowerCase();
}

const schema = z.lazy(() =>
  z.strictObject({
    mode: z
      .enum(['snake', 'camel', 'pascal', 'kebab', 'screaming_snake', 'dot'])
      .meta({ description: 'The style every key gets.' }),
  }),
);

export const keysCase = defineTransform<z.infer<typeof schema>>({
  type: 'keys_case',
  description:
    'Writes every key at every depth in one style. Words end at anything but letters and digits and where a small letter meets a capital; a run of capitals stays one word.',
  config: schema,
  examples: [
    {
      config: { mode: 'snake' },
      input: [{ firstName: 1, HTTPServerID: 2, 'Last Name': [{ zipCode: 3 }], '%': 4 }],
      output: [{ first_name: 1, httpserver_id: 2, last_name: [{ zip_code: 3 }], '%': 4 }],
    },
    { config: { mode: 'camel' }, input: [{ 'order-ID': 1 }], output: [{ orderId: 1 }] },
    { config: { mode: 'screaming_snake' }, input: [{ orderId: 1 }], output: [{ ORDER_ID: 1 }] },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  schema: ({ mode }, input) => renamedSchema(input, (key) => restyled(key, STYLES[mode]), 'error'),
  worksOnColumns: () => true,
  compile: ({ mode }) => renamingTree((key) => restyled(key, STYLES[mode]), 'error'),
});

function restyled(key: string, style: (words: readonly string[]) => string): string {
  const words = key
    .replaceAll(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  return words.length === 0 ? key : style(words);
}
