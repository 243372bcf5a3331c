import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { batchSize, boolean, finding, integer, json, optional } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import { parseMongoAddress } from '../../lib/mongodb/address.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import { collectionName, databaseName, mongodbUri } from '../_documents/mongodb-fields.ts';

function place() {
  return {
    connection_uri: mongodbUri(),
    database: databaseName(),
    collection: collectionName(),
  };
}

/** Lists and single values are no conditions. */
function document(description: string, examples: readonly JsonObject[]) {
  return optional(
    json().superRefine((value, ctx) => {
      if (isObject(value)) return;
      ctx.addIssue(finding('wrong_type', 'must be a mapping', { hint: 'e.g. `{status: paid}`' }));
    }),
  ).meta({ description, examples });
}

const TOKENS = '`{field}` stands for a value of the parent record.';

const sourceFields = z.lazy(() =>
  z.strictObject({
    ...place(),
    filter: document(
      `Which documents are read, as \`find\` takes it, with values in JSON or Extended JSON; all when absent. ${TOKENS}`,
      [{ status: 'paid', at: { $gte: { $date: '2024-01-01T00:00:00Z' } } }],
    ),
    projection: document(`Fields that are read; all when absent. ${TOKENS}`, [{ _id: 0, name: 1 }]),
    sort: document(
      `Order of the records: 1 ascends, -1 descends; the order of the server when absent. ${TOKENS}`,
      [{ at: -1 }],
    ),
    limit: optional(integer({ min: 0 })).meta({
      description: 'Records read at most; unset or 0: all.',
    }),
    cursor_batch_size: optional(integer({ min: 1, max: 2_147_483_647 })).meta({
      description:
        'Documents that the server sends together; unset: first 101, then as many as 16 MiB hold.',
    }),
    batch_size: batchSize(),
  }),
);
export const mongodbSourceConfig = z.lazy(() =>
  otherName('connection_url', 'connection_uri', sourceFields),
);
export type MongodbSourceConfig = z.output<typeof sourceFields>;

const sinkFields = z.lazy(() =>
  z
    .strictObject({
      ...place(),
      batch_size: batchSize().meta({
        description: 'Records that are sent together at most; 0: those of a page.',
      }),
      ordered: boolean().default(false).meta({
        description:
          'Whether records are written one after the other, so that none is written behind one that is refused. Otherwise the others are written, in any order.',
      }),
      ...writeFields(['append', 'upsert', 'delete', 'overwrite']),
    })
    .superRefine((config, ctx) => {
      checkWriteFields(config, ctx);
      for (const [index, name] of config.key.entries())
        if (name.includes('.') || name.startsWith('$'))
          ctx.addIssue(
            finding('invalid_value', `\`${name}\` is no field at the top of a document`, {
              path: ['key', index],
              hint: 'name fields without `.` and `$`',
            }),
          );
      if (parseMongoAddress(config.connection_uri)?.options.get('w') !== '0') return;
      ctx.addIssue(
        finding('invalid_value', '`w=0` of the address lets records get lost without an error', {
          path: ['connection_uri'],
          hint: 'remove the option, or write `w=majority`',
        }),
      );
    }),
);
export const mongodbSinkConfig = z.lazy(() =>
  otherName('connection_url', 'connection_uri', sinkFields),
);
export type MongodbSinkConfig = z.output<typeof sinkFields>;
