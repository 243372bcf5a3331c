import type { Kinesis } from '@aws-sdk/client-kinesis';
import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { awsClientSettings } from '../../lib/aws/client-settings.ts';
import { loadClient } from '../../lib/load-client.ts';
import { AwsLink } from '../_aws/link.ts';
import { awsPlace, type AwsFields } from '../_aws/place.ts';
import { probed } from '../_aws/probe.ts';

export type KinesisLink = AwsLink<Kinesis>;

export interface StreamFields extends AwsFields {
  readonly stream_name: string;
}

const REQUEST_MS = 60_000;
const PACKAGES = '@aws-sdk/client-kinesis @smithy/node-http-handler';

export function openKinesis(config: StreamFields, context: PartContext): KinesisLink {
  return new AwsLink(context, async () => {
    const place = awsPlace(config, context);
    const [sdk, { NodeHttpHandler }] = await loadClient(PACKAGES, () =>
      Promise.all([import('@aws-sdk/client-kinesis'), import('@smithy/node-http-handler')]),
    );
    const settings = await awsClientSettings(place, { attempts: 1, requestMs: REQUEST_MS });
    // The client speaks HTTP/2 by itself, which other services with this protocol do not.
    const requestHandler = new NodeHttpHandler(settings.requestHandler);
    return new sdk.Kinesis({ ...settings, requestHandler });
  });
}

export function streamAddress({ stream_name: name, region }: StreamFields): string {
  return `kinesis://${region ?? 'default'}/${name}`;
}

export function probeStream(config: StreamFields, context: PartContext): Promise<ProbeFinding[]> {
  const link = openKinesis(config, context);
  return probed('describe_stream', 'stream_name', { link, context }, (client, options) =>
    client.describeStreamSummary({ StreamName: config.stream_name }, options),
  );
}
