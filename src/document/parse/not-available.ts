import type { Issue } from '../../lib/errors.ts';
import { hasField, type JsonObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';

/**
 * Keys of the specification that this version does not run, by the mapping they stand in, with what
 * they are for.
 */
const NOT_AVAILABLE: Readonly<Record<Place, Readonly<Record<string, string>>>> = {
  document: {
    mirror: 'replication',
    replication: 'replication',
  },
  pipeline: {},
  'source node': { complete_for: 'clean-up of vanished rows in a graph' },
  row: {},
};

/** Connectors of the specification that this version lacks. */
const CONNECTORS: ReadonlySet<string> = new Set(
  (
    'kafka mysql mysql-cdc postgres-cdc mongodb mongodb-cdc mssql oracle sqlserver mariadb cassandra clickhouse bigquery snowflake ' +
    'redshift databricks spanner dynamodb iceberg delta s3 gcs azure-blob redis elasticsearch opensearch nats rabbitmq mqtt kinesis sqs ' +
    'pubsub sftp webhook websocket graphql xml grpc singer'
  ).split(' '),
);

/** Whether a type is one of the specification; spelled with `_` or `-`. */
export function isOfSpecification(kind: string, type: string): boolean {
  return kind !== 'transform' && CONNECTORS.has(type.replaceAll('_', '-'));
}

type Place = 'document' | 'pipeline' | 'source node' | 'row';

/**
 * Reports the keys that cannot be used yet and returns the mapping without them. A key set to null
 * counts as absent.
 */
export function withoutUnavailable(
  place: Place,
  mapping: JsonObject,
  path: string,
  issues: Issue[],
): JsonObject {
  const keys = NOT_AVAILABLE[place];
  let rest = mapping;
  for (const key of Object.keys(mapping)) {
    const purpose = hasField(keys, key) ? keys[key] : undefined;
    if (purpose === undefined) continue;
    if (rest === mapping) rest = { ...mapping };
    delete rest[key];
    if (mapping[key] === null) continue;
    issues.push({
      code: 'not_available',
      path: joinPath(path, key),
      message: `this version does not run \`${key}\` (${purpose}) yet`,
      hint: 'remove the key; it would have no effect',
    });
  }
  return rest;
}
