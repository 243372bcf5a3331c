import type { SourceContext } from '../../kit/context.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { defineSource, type Source, type SourceCapabilities } from '../../kit/source.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { cutPages } from '../_files/lines/cut-pages.ts';
import { redisUri } from './addresses.ts';
import { redisSourceConfig, type RedisSourceConfig, type StreamSource } from './config.ts';
import { GroupSource, IDLE_FLUSH_MS } from './group.ts';
import { RedisLink } from './link.ts';
import { recordsOf, refuseCluster } from './read.ts';

export const redisSource = defineSource<RedisSourceConfig>({
  type: 'redis',
  aliases: ['queue_a'],
  description: 'Reads a list, a stream or the keys of a pattern in Redis.',
  config: redisSourceConfig,
  examples: [
    { url: 'redis://localhost:6379/0', source_type: { type: 'List', key: 'orders' } },
    {
      url: 'redis://localhost:6379/0',
      source_type: { type: 'Stream', key: 'orders', group: 'loader', idle_timeout: 30 },
    },
    {
      url: 'rediss://:secret@cache.example.com:6380/2',
      source_type: { type: 'Keys', pattern: 'user:*' },
      max_records: 100_000,
    },
  ],
  capabilities: ({ source_type: type }): SourceCapabilities =>
    isGrouped(type)
      ? {
          replay: 'none',
          bookmarks: true,
          encodings: [],
          unbounded: { redelivery: 'upstream', idleFlushMs: IDLE_FLUSH_MS },
        }
      : { replay: 'none', bookmarks: false, encodings: [] },
  datasetUri: ({ url, source_type: type }) => {
    if (type.type === 'Keys') return redisUri(url, { pattern: type.pattern });
    return redisUri(url, type.type === 'List' ? { key: type.key } : { stream: type.key });
  },
  readsJson: true,
  open: (config, context) => Promise.resolve(openRedisSource(config, context)),
  probe: probeRedisSource,
});

function isGrouped(
  type: RedisSourceConfig['source_type'],
): type is StreamSource & { readonly group: string } {
  return type.type === 'Stream' && type.group !== undefined;
}

function openRedisSource(config: RedisSourceConfig, context: SourceContext): Source {
  const { url, source_type: type, max_records: most = Infinity } = config;
  const { signal, env, pageBytes } = context;
  const wrongType = 'set `source_type` to what the key holds';
  const link = new RedisLink({ url, signal, redactor: env.redactor, wrongType });
  if (isGrouped(type)) return new GroupSource({ link, config, stream: type, context });
  const bounds = pageBounds(config.batch_size, pageBytes);
  return {
    pages: ({ lane, limit: wanted = Infinity }) => {
      const limit = Math.min(wanted, most);
      const records = recordsOf({ link, config, context, limit });
      return cutPages(records, { lane, bounds, limit, signal });
    },
    close: () => {
      link.close();
      return Promise.resolve();
    },
  };
}

/** Looks without reading: what a group is given counts as delivered. */
async function probeRedisSource(
  { url, source_type: type }: RedisSourceConfig,
  { signal, env }: SourceContext,
): Promise<ProbeFinding[]> {
  const wrongType = 'set `source_type` to what the key holds';
  const link = new RedisLink({ url, signal, redactor: env.redactor, wrongType });
  try {
    const doing = 'the server cannot be read';
    if (type.type === 'Keys') await refuseCluster(link, doing);
    await link.run(doing, async (redis) => {
      if (type.type === 'List') return redis.lrange(type.key, 0, 0);
      if (type.type === 'Stream') return redis.xrange(type.key, '-', '+', 'COUNT', 1);
      return redis.scan('0', 'MATCH', type.pattern, 'COUNT', 1);
    });
    return [{ name: 'read', status: 'pass' }];
  } catch (error) {
    return [failed('read', error)];
  } finally {
    link.close();
  }
}

export function failed(name: string, error: unknown): ProbeFinding {
  const hint =
    error instanceof AppError && error.hint !== undefined
      ? error.hint
      : 'check the address, user, password and database of `url`';
  return { name, status: 'fail', reason: messageOf(error), hint };
}
