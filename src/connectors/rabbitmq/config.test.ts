import { describe, expect, it } from 'vitest';
import { check } from '../../kit/schema.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { rabbitmqSink, rabbitmqSource } from './index.ts';

const URL_OF = 'amqp://me:secret-word@rabbit:5673/shop';

function issues({ config: schema }: Pick<SinkDefinition, 'config'>, config: JsonObject): string[] {
  const checked = check(schema, config);
  return checked.ok ? [] : checked.issues.map(({ path }) => path);
}

describe('a config of rabbitmq', () => {
  it('of a source needs an address, a queue and an end', () => {
    expect(issues(rabbitmqSource, { url: 'http://x', queue: 'q', max_messages: 1 })).toEqual([
      'url',
    ]);
    expect(issues(rabbitmqSource, { url: URL_OF, queue: 'q' })).toEqual(['idle_timeout_secs']);
    expect(issues(rabbitmqSource, { url: URL_OF, max_messages: 1 })).toEqual(['queue']);
    expect(issues(rabbitmqSource, { connection_url: URL_OF, queue: 'q', max_messages: 1 })).toEqual(
      [],
    );
  });

  it('of a sink needs one routing key', () => {
    expect(issues(rabbitmqSink, { url: URL_OF })).toEqual(['routing_key']);
    expect(issues(rabbitmqSink, { url: URL_OF, routing_key: '', exchange: 'x' })).toEqual([]);
    expect(issues(rabbitmqSink, { url: URL_OF, routing_key: 'a', routing_key_field: 'b' })).toEqual(
      ['routing_key_field'],
    );
    expect(issues(rabbitmqSink, { url: URL_OF, routing_key: 'a', exchange_kind: 'topic' })).toEqual(
      ['exchange_kind'],
    );
  });

  it('gives the address of a data set without its login', () => {
    const source = check(rabbitmqSource.config, { url: URL_OF, queue: 'q', max_messages: 1 });
    expect(source.ok && rabbitmqSource.datasetUri(source.value)).toBe(
      'rabbitmq://rabbit:5673/shop?queue=q',
    );
    const uriOf = (config: JsonObject): string | false => {
      const sink = check(rabbitmqSink.config, { url: 'amqps://rabbit', ...config });
      return sink.ok && rabbitmqSink.datasetUri(sink.value);
    };
    expect(uriOf({ routing_key: 'k' })).toBe('rabbitmq://rabbit:5671?exchange=&routing_key=k');
    expect(uriOf({ exchange: 'x', routing_key_field: 'f' })).toBe(
      'rabbitmq://rabbit:5671?exchange=x&routing_key=(from_field:f)',
    );
    expect(uriOf({ exchange: 'x', routing_key_jsonpath: '$.a' })).toBe(
      'rabbitmq://rabbit:5671?exchange=x&routing_key=(from_path:$.a)',
    );
  });
});
