import type { SinkContext } from '../../../kit/context.ts';
import type { ProbeFinding } from '../../../kit/probe.ts';
import { AppError, messageOf } from '../../../lib/errors.ts';
import { isObject } from '../../../lib/text/json.ts';
import type { ElasticsearchSinkConfig } from '../config.ts';
import { Link, step } from '../link.ts';

/** Whether the cluster answers, and the index can be written to as the mode wants it. */
export async function probeElasticsearch(
  config: ElasticsearchSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const link = await Link.open(config, context);
  try {
    const health = await tried('health', async () => {
      const { status = null } = await link.ask({ method: 'GET', path: '_cluster/health' });
      return status === 'red' ? 'the health of the cluster is red' : undefined;
    });
    if (health.status === 'fail') return [health];
    return [health, await tried('schema', () => faultOfIndex(link, config))];
  } finally {
    await link.close();
  }
}

async function faultOfIndex(
  link: Link,
  { index, write_mode: mode }: ElasticsearchSinkConfig,
): Promise<string | undefined> {
  const found = await link.find({ method: 'GET', path: `${step(index)}/_mapping` });
  const isConcrete = found !== undefined && isObject(found[index] ?? null);
  return mode === 'overwrite' && isConcrete
    ? `\`${index}\` is an index, which cannot be replaced at once: name an alias`
    : undefined;
}

async function tried(name: string, work: () => Promise<string | undefined>): Promise<ProbeFinding> {
  try {
    const reason = await work();
    if (reason === undefined) return { name, status: 'pass' };
    return { name, status: 'fail', reason, hint: 'look at the cluster, or change `index`' };
  } catch (error) {
    const hint = error instanceof AppError ? error.hint : undefined;
    return {
      name,
      status: 'fail',
      reason: messageOf(error),
      hint: hint ?? 'check `base_url` and `auth`',
    };
  }
}
