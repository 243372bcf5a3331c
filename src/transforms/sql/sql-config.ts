import { z } from 'zod';
import { isObject } from '../../lib/text/json.ts';
import { boolean, finding, integer, json, optional, text } from '../../kit/schema.ts';

/** Name of the relation that is the page. */
export const BATCH = 'batch';

const csvRelation = z.lazy(() =>
  z.strictObject({
    type: z.literal('csv').meta({
      description: 'A file of delimited text; the types of the columns are found from its values.',
    }),
    path: text().meta({
      description: 'File to read; relative paths start at the folder the process runs in.',
    }),
    has_header: boolean().default(true).meta({
      description: 'Whether the first row names the columns; otherwise column_0, column_1, ….',
    }),
  }),
);

const jsonlRelation = z.lazy(() =>
  z.strictObject({
    type: z.literal('jsonl').meta({ description: 'A file with one JSON object a line.' }),
    path: text().meta({
      description: 'File to read; relative paths start at the folder the process runs in.',
    }),
  }),
);

const valuesRelation = z.lazy(() =>
  z
    .strictObject({
      type: z.literal('values').meta({ description: 'Rows written here.' }),
      columns: z.array(text()).min(1).meta({ description: 'Names of the columns.' }),
      rows: z
        .array(z.array(json()))
        .min(1)
        .meta({ description: 'Rows, each a list of values in the order of `columns`.' }),
    })
    .superRefine(({ columns, rows }, ctx) => {
      const wrong = rows.findIndex((row) => row.length !== columns.length);
      if (wrong === -1) return;
      const message = `the row has ${rows[wrong]?.length} values, but there are ${columns.length} columns`;
      ctx.addIssue(finding('invalid_value', message, { path: ['rows', wrong] }));
    }),
);

/** `{csv: {…}}` says the same as `{type: csv, …}`. */
function withType(written: unknown): unknown {
  if (!isObject(written) || 'type' in written) return written;
  const [[type, fields] = ['', null], ...more] = Object.entries(written);
  return more.length === 0 && isObject(fields) ? { type, ...fields } : written;
}

const relation = z.lazy(() =>
  z.strictObject({
    name: text().meta({ description: 'What the query calls it.' }),
    source: z
      .preprocess(
        withType,
        z.discriminatedUnion('type', [csvRelation, jsonlRelation, valuesRelation]),
      )
      .meta({ description: 'Where its rows come from: `csv`, `jsonl` or `values`.' }),
    reload_on_change: boolean().default(false).meta({
      description: 'Whether the file is read again before a page when it has changed.',
    }),
  }),
);
export type SqlRelation = z.output<typeof relation>;

export const sqlConfig = z.lazy(() =>
  z.strictObject({
    query: text().meta({
      description:
        'A SELECT; the page is the relation `batch`. It runs once for each page, and its rows are the records that go on.',
      examples: [
        'SELECT b.*, c.name AS country FROM batch b LEFT JOIN countries c ON c.code = b.country',
      ],
    }),
    relations: z
      .preprocess((value) => value ?? undefined, z.array(relation).default([]))
      .superRefine((relations, ctx) => {
        for (const [index, { name }] of relations.entries()) {
          const same = (other: string): boolean => other.toLowerCase() === name.toLowerCase();
          if (same(BATCH))
            ctx.addIssue(
              finding('invalid_value', '`batch` is the page itself', {
                path: [index, 'name'],
                hint: 'choose another name',
              }),
            );
          else if (relations.findIndex((one) => same(one.name)) < index) {
            ctx.addIssue(
              finding('invalid_value', `there are two relations called ${JSON.stringify(name)}`, {
                path: [index, 'name'],
              }),
            );
          }
        }
      })
      .meta({ description: 'Reference data the query may read besides the page.' }),
    memory_limit: optional(z.string().regex(/^\d+(\.\d+)?\s*([KMGT]i?B)$/i)).meta({
      description:
        'Memory the engine may use; a page and the relations have to fit. 512MB when absent.',
      examples: ['1GB'],
    }),
    threads: integer({ min: 1, max: 256 })
      .default(1)
      .meta({ description: 'Threads the engine may use.' }),
  }),
);
export type SqlConfig = z.output<typeof sqlConfig>;
