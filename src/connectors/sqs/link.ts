import type { SQS } from '@aws-sdk/client-sqs';
import type { PartContext } from '../../kit/context.ts';
import { awsClientSettings } from '../../lib/aws/client-settings.ts';
import { loadClient } from '../../lib/load-client.ts';
import { AwsLink } from '../_aws/link.ts';
import { awsPlace, type AwsFields } from '../_aws/place.ts';

export type SqsLink = AwsLink<SQS>;

export interface QueueFields extends AwsFields {
  readonly queue_url: string;
}

/** A request waits for messages for up to 20 seconds. */
const REQUEST_MS = 60_000;

export function openSqs(config: QueueFields, context: PartContext): SqsLink {
  const { region = regionOf(config.queue_url), endpoint_url: given } = config;
  const endpoint = given ?? new URL(config.queue_url).origin;
  return new AwsLink(context, async () => {
    const sdk = await loadClient('@aws-sdk/client-sqs', () => import('@aws-sdk/client-sqs'));
    const place = awsPlace({ ...config, region, endpoint_url: endpoint }, context);
    return new sdk.SQS(await awsClientSettings(place, { attempts: 1, requestMs: REQUEST_MS }));
  });
}

/** The one in the host name of the service. */
function regionOf(queueUrl: string): string | undefined {
  return /\/\/(?:[^/]*[./])?([a-z]{2}(?:-[a-z]+)+-\d)\./.exec(queueUrl)?.[1];
}

export function queueAddress({ queue_url: url, region }: QueueFields): string {
  const name = new URL(url).pathname.split('/').findLast((step) => step !== '') ?? '';
  return `sqs://${region ?? regionOf(url) ?? 'default'}/${name}`;
}
