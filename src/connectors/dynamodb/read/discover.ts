import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { runRequests } from '../../_http/run-requests.ts';
import type { DynamodbSourceConfig } from '../config.ts';
import { openDynamodb, tableRetry, type DynamodbLink } from '../link.ts';

const TYPES: Readonly<Record<string, string>> = { S: 'string', N: 'number', B: 'string' };

/** One data set for each table; of its fields the service knows those of the key. */
export async function discoverTables(
  config: DynamodbSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const link = openDynamodb(config, context);
  const run = runRequests(context, tableRetry(config.retry, context));
  const doing = 'the tables cannot be listed';
  try {
    const found: Discovered[] = [];
    let from: string | undefined;
    do {
      const ExclusiveStartTableName = from;
      const answer = await run(doing, context.signal, () =>
        link.ask(doing, (client, options) =>
          client.listTables({ ExclusiveStartTableName }, options),
        ),
      );
      for (const name of answer.TableNames ?? [])
        found.push(await run(doing, context.signal, () => described(link, name)));
      from = answer.LastEvaluatedTableName;
    } while (from !== undefined);
    return found;
  } finally {
    await link.close();
  }
}

async function described(link: DynamodbLink, name: string): Promise<Discovered> {
  const { Table: table } = await link.ask('a table cannot be described', (client, options) =>
    client.describeTable({ TableName: name }, options),
  );
  const properties: JsonObject = {};
  const types = new Map(
    (table?.AttributeDefinitions ?? []).map((one) => [one.AttributeName, one.AttributeType]),
  );
  const key = (table?.KeySchema ?? []).map(({ AttributeName: field = '' }) => field);
  for (const field of key) properties[field] = { type: TYPES[types.get(field) ?? 'S'] ?? 'string' };
  return {
    name,
    kind: 'table',
    schema: { type: 'object', properties, required: key },
    ...(table?.ItemCount === undefined ? {} : { estimated_rows: table.ItemCount }),
    config_patch: { table_name: name },
  };
}
