/** Properties of Kafka clients that are fields of a document here, and those that this client has no use for. */

/** Fields that properties replace. */
export interface FieldsOfProperties {
  readonly session_timeout?: number;
  readonly group_id?: string;
  readonly auto_offset_reset?: 'earliest' | 'latest';
  readonly linger?: number;
}

interface FieldProperty {
  /** Why the value cannot be taken. */
  fault(value: string): string | undefined;
  fields(value: string): FieldsOfProperties;
}

const milliseconds = (
  [min, max]: readonly [number, number],
  fields: (seconds: number) => FieldsOfProperties,
): FieldProperty => ({
  fault: (value) =>
    /^\d{1,12}(?:\.\d+)?$/.test(value.trim()) && Number(value) >= min && Number(value) <= max
      ? undefined
      : `\`${value}\` is no number from ${min} to ${max}`,
  fields: (value) => fields(Number(value) / 1000),
});

const BEGINNINGS: Readonly<Record<string, 'earliest' | 'latest'>> = {
  smallest: 'earliest',
  earliest: 'earliest',
  beginning: 'earliest',
  largest: 'latest',
  latest: 'latest',
  end: 'latest',
};

const linger = milliseconds([0, 3_600_000], (seconds) => ({ linger: seconds }));

export const FIELD_PROPERTIES: Readonly<Record<string, FieldProperty>> = {
  'auto.offset.reset': {
    fault: (value) =>
      BEGINNINGS[value.toLowerCase()] === undefined
        ? `\`${value}\` is not one of earliest, latest`
        : undefined,
    fields: (value) => ({ auto_offset_reset: BEGINNINGS[value.toLowerCase()] ?? 'latest' }),
  },
  'group.id': {
    fault: (value) => (value === '' ? 'the value is empty' : undefined),
    fields: (value) => ({ group_id: value }),
  },
  'linger.ms': linger,
  'queue.buffering.max.ms': linger,
  'session.timeout.ms': milliseconds([1000, 3_600_000], (seconds) => ({
    session_timeout: seconds,
  })),
};

/** The config with the fields that its raw properties replace; a field that it does not have stays away. */
export function withFieldsOfProperties<
  C extends { readonly extra_client_config: Readonly<Record<string, string>> },
>(config: C): C {
  const replaced = Object.entries(config.extra_client_config).flatMap(([name, value]) =>
    Object.entries(FIELD_PROPERTIES[name]?.fields(value) ?? {}),
  );
  return { ...config, ...Object.fromEntries(replaced.filter(([field]) => field in config)) };
}

/** Accepted, because documents from elsewhere have them, and told to change nothing; with the reason. */
export const PROPERTIES_WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  'api.version.request': 'versions are always asked for',
  'auto.commit.interval.ms': 'positions are kept as bookmarks',
  'batch.num.messages': '`batch_size` and `max_in_flight` say how many are sent together',
  'batch.size': '`batch_size` and `max_in_flight` say how many are sent together',
  'broker.address.family': 'the system chooses the address',
  'broker.version.fallback': 'versions are always asked for',
  'buffer.memory': 'what waits is bounded by pages',
  'check.crcs': 'this client does not check them',
  'connections.max.idle.ms': 'a connection stays as long as the run needs it',
  debug: '`--log-level debug` says more',
  'enable.auto.commit':
    'positions are kept as bookmarks; `commit_offsets: true` tells them to the group',
  'enable.auto.offset.store': 'positions are kept as bookmarks',
  'enable.partition.eof': 'the end of a partition is always noticed',
  'fetch.error.backoff.ms': '`retry.backoff.ms` says it for all requests',
  'heartbeat.interval.ms': 'members of a group say that they live every few seconds',
  'log.connection.close': '`--log-level debug` says more',
  log_level: '`--log-level` says it',
  'max.block.ms': '`message_timeout` says how long a record waits',
  'max.in.flight': 'brokers are asked in the order of the records',
  'max.in.flight.requests.per.connection': 'brokers are asked in the order of the records',
  'max.poll.interval.ms': 'a page that takes long does not end the membership in a group',
  'max.poll.records': '`batch_size` says how many records a page has',
  'max.request.size': 'only the topic and its broker bound messages (`max.message.bytes`)',
  'message.copy.max.bytes': 'messages are never copied',
  'message.max.bytes': 'only the topic and its broker bound messages (`max.message.bytes`)',
  'message.send.max.retries':
    '`queue_full_max_retries` and `message_timeout` say how often it is tried',
  'partition.assignment.strategy': 'partitions are divided evenly',
  'queue.buffering.max.kbytes': 'what waits is bounded by pages',
  'queue.buffering.max.messages': 'what waits is bounded by pages',
  'queued.max.messages.kbytes': 'what waits is bounded by pages',
  'queued.min.messages': 'what waits is bounded by pages',
  'receive.buffer.bytes': 'the system chooses the size of its buffers',
  'receive.message.max.bytes': '`fetch.max.bytes` bounds an answer',
  'reconnect.backoff.max.ms': '`retry.backoff.ms` says it for all requests',
  'reconnect.backoff.ms': '`retry.backoff.ms` says it for all requests',
  'send.buffer.bytes': 'the system chooses the size of its buffers',
  'socket.keepalive.enable': 'the system keeps connections alive',
  'socket.nagle.disable': 'requests are always sent at once',
  'socket.receive.buffer.bytes': 'the system chooses the size of its buffers',
  'socket.send.buffer.bytes': 'the system chooses the size of its buffers',
  'statistics.interval.ms': '`/metrics` and the receipt have the counts',
  'topic.metadata.refresh.interval.ms': '`metadata.max.age.ms` says it',
};
