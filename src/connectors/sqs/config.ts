import { z } from 'zod';
import { batchSize, finding, integer, nullAsAbsent, optional, text } from '../../kit/schema.ts';
import { retryFields } from '../_http/batches.ts';
import { awsFields } from '../_aws/place.ts';
import { checkEnd, endOfMessages } from '../_brokers/end.ts';
import { endpointUrl, httpUrl } from '../_http/fields.ts';

const place = () => ({
  queue_url: httpUrl(
    'Address of the queue, e.g. `https://sqs.eu-north-1.amazonaws.com/123456789012/orders`.',
  ),
  ...awsFields(
    'Region of the queue; that in `queue_url`, or of the environment, when absent.',
    endpointUrl(
      'Address of the service, when it is another one than that in `queue_url`.',
      'http://localhost:9324',
    ),
  ),
});

const sourceFields = z.lazy(() =>
  z
    .strictObject({
      ...place(),
      wait_time_seconds: nullAsAbsent(integer({ min: 0, max: 20 }).default(10)).meta({
        description: 'Seconds that the service waits for a message before it says there is none.',
      }),
      visibility_timeout_secs: nullAsAbsent(integer({ min: 10, max: 43_200 }).default(60)).meta({
        description:
          'Seconds for which others do not get a message that this run has; extended for as long as it has it.',
      }),
      ...endOfMessages(),
      batch_size: batchSize(),
    })
    .superRefine(checkEnd),
);
export const sqsSourceConfig = sourceFields;
export type SqsSourceConfig = z.output<typeof sourceFields>;

const sinkFields = z.lazy(() =>
  z
    .strictObject({
      ...place(),
      message_group_id: optional(text()).meta({
        description: 'Group of the messages; a FIFO queue keeps their order within it.',
      }),
      message_deduplication_id_field: optional(text()).meta({
        description:
          'Field of a record whose value a FIFO queue takes only once within five minutes; without it the queue must compare contents.',
      }),
      batch_size: nullAsAbsent(integer({ min: 1, max: 10 }).default(10)).meta({
        description: 'Messages of a request at most.',
      }),
      concurrency: nullAsAbsent(integer({ min: 1, max: 1000 }).default(4)).meta({
        description: 'Requests at the same time; those of a FIFO queue are sent one by one.',
      }),
      ...retryFields(),
    })
    .superRefine((config, ctx) => {
      const { message_group_id: group, message_deduplication_id_field: field } = config;
      const fifo = isFifo(config.queue_url);
      if (fifo && group === undefined)
        ctx.addIssue(
          finding('missing_key', 'a FIFO queue needs `message_group_id`', {
            path: ['message_group_id'],
            hint: 'messages of one group keep their order, e.g. `message_group_id: headgate`',
          }),
        );
      if (!fifo && field !== undefined)
        ctx.addIssue(
          finding('invalid_value', 'only a FIFO queue takes ids to compare', {
            path: ['message_deduplication_id_field'],
            hint: 'the name of a FIFO queue ends with `.fifo`',
          }),
        );
    }),
);
export const sqsSinkConfig = sinkFields;
export type SqsSinkConfig = z.output<typeof sinkFields>;

/** A token of a run may still stand for it. */
export function isFifo(queueUrl: string): boolean {
  return /\.fifo(?:[?#]|$)/.test(queueUrl);
}
