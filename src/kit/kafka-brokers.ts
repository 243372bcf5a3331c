import { areBrokers } from '../lib/kafka/kafka.ts';
import { finding, text } from './schema.ts';

/** A config field with addresses of brokers of Kafka. */
export function kafkaBrokers() {
  return text()
    .superRefine((brokers, ctx) => {
      if (areBrokers(brokers)) return;
      const message = 'expected addresses of brokers, such as `kafka-1:9092,kafka-2:9092`';
      ctx.addIssue(finding('invalid_value', message));
    })
    .meta({ description: 'Addresses of brokers, separated by commas.' });
}
