import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import type { PartContext } from '../../kit/context.ts';
import { awsClientSettings } from '../../lib/aws/client-settings.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';
import { batchRetry } from '../_http/batches.ts';
import { AwsLink } from '../_aws/link.ts';
import { awsPlace, type AwsFields } from '../_aws/place.ts';
import type { RequestRetry } from '../_http/retry.ts';
import type { Requesting } from '../_http/run-requests.ts';
import type { KeyField } from './attributes.ts';
import type { RetryBlock } from './config.ts';

export type DynamodbLink = AwsLink<DynamoDB>;

export interface TableFields extends AwsFields {
  readonly table_name: string;
}

const REQUEST_MS = 60_000;
const USUAL = { attempts: 8, initialMs: 100, maxMs: 10_000 };

export function openDynamodb(config: AwsFields, context: PartContext): DynamodbLink {
  return new AwsLink(context, async () => {
    const place = awsPlace(config, context);
    const sdk = await loadClient(
      '@aws-sdk/client-dynamodb',
      () => import('@aws-sdk/client-dynamodb'),
    );
    return new sdk.DynamoDB(await awsClientSettings(place, { attempts: 1, requestMs: REQUEST_MS }));
  });
}

export function tableRetry(retry: RetryBlock, context: Requesting): RequestRetry {
  const own = {
    retry_max_attempts: retry?.max_attempts,
    retry_initial_backoff_ms: retry?.initial_backoff_ms,
    retry_max_backoff_ms: retry?.max_backoff_ms,
  };
  return batchRetry(own, context, USUAL);
}

export function tableAddress({ table_name: name, region }: TableFields): string {
  return `dynamodb://${region ?? 'default'}/${name}`;
}

/** The fields of the key, the one of the partition first. */
export async function tableKey(link: DynamodbLink, table: string): Promise<KeyField[]> {
  const doing = `the table \`${table}\` cannot be asked for its key`;
  const { Table: told } = await link.ask(doing, (client, options) =>
    client.describeTable({ TableName: table }, options),
  );
  const types = new Map(
    (told?.AttributeDefinitions ?? []).map((one) => [one.AttributeName, one.AttributeType]),
  );
  const key = (told?.KeySchema ?? []).map(({ AttributeName: name = '' }): KeyField => {
    const type = types.get(name);
    return { name, type: type === 'N' || type === 'B' ? type : 'S' };
  });
  if (key.length > 0) return key;
  throw new ConnectorError('data', `${doing}: the answer has none`);
}
