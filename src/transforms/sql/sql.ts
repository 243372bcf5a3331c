import { defineTransform } from '../../kit/transform.ts';
import { sqlConfig, type SqlConfig } from './sql-config.ts';

export const sql = defineTransform<SqlConfig>({
  type: 'sql',
  description:
    'Runs a query of the embedded analytical engine over each page, joined with reference data. Fields of known types have these types in the query, and so have the fields of its result.',
  config: sqlConfig,
  examples: [
    {
      config: {
        query:
          'SELECT b.id, b.amount * r.rate AS euro FROM batch b JOIN rates r USING (currency) WHERE b.amount > 1 ORDER BY b.id',
        relations: [
          {
            name: 'rates',
            source: {
              type: 'values',
              columns: ['currency', 'rate'],
              rows: [
                ['EUR', 1],
                ['USD', 0.5],
              ],
            },
          },
        ],
      },
      input: [
        { id: 2, amount: 10, currency: 'USD' },
        { id: 1, amount: 3, currency: 'EUR' },
        { id: 3, amount: 1, currency: 'EUR' },
      ],
      output: [
        { id: 1, euro: 3 },
        { id: 2, euro: 5 },
      ],
    },
    {
      config: { query: 'SELECT id, len(tags) AS tags, place.city AS city FROM batch' },
      input: [
        { id: 9007199254740993n, tags: ['a', 'b'], place: { city: 'Bergen' } },
        { id: 2, tags: [], place: null },
      ],
      output: [
        { id: 9007199254740993n, tags: 2, city: 'Bergen' },
        { id: 2, tags: 0, city: null },
      ],
    },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  schemaWhenCompiled: true,
  async compile(config, { env }) {
    const { SqlSession } = await import('./sql-session.ts');
    const session = await SqlSession.open(config, env);
    return {
      kind: 'page',
      apply: (records, signal, schema) => session.apply(records, signal, schema),
      schemaAfter: (input) => session.schemaAfter(input),
      close: () => session.close(),
    };
  },
});
