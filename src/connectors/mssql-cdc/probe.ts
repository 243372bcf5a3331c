/** Whether a run could read the changes; no change is taken. */
import type { SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import type { Link } from '../_mssql/connection.ts';
import type { MssqlCdcConfig } from './config.ts';
import { Links } from './links.ts';
import { InstanceChanges } from './read/instance-changes.ts';
import { askKept, checkEnabled, endOf, findInstances, transactionAfter } from './server.ts';

const PROBE_SECS = 10;

export async function probeMssqlCdc(
  config: MssqlCdcConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  const links = new Links({ ...config, statement_timeout_secs: PROBE_SECS }, context);
  const doing = 'the server cannot be asked';
  const steps: readonly (readonly [name: string, look: () => Promise<unknown>])[] = [
    ['connection', () => links.using(doing, (link) => link.ask('SELECT 1 AS one'))],
    ['cdc-enabled', () => links.using(doing, checkEnabled)],
    ['capture-instances', () => checkInstances(links, config)],
  ];
  const findings: ProbeFinding[] = [];
  try {
    for (const [name, look] of steps) {
      await look();
      findings.push({ name, status: 'pass' });
    }
  } catch (error) {
    context.signal.throwIfAborted();
    const name = steps[findings.length]?.[0] ?? '';
    const hint =
      (error instanceof AppError ? error.hint : undefined) ??
      'check host, port, user, password, database and `tls`';
    findings.push({ name, status: 'fail', reason: messageOf(error), hint });
  } finally {
    links.close();
  }
  return findings;
}

/** The rights that a run needs are shown by asking for changes, in a range as short as there is. */
async function checkInstances(links: Links, config: MssqlCdcConfig): Promise<void> {
  const names = config.capture_instances;
  const found = await links.using(
    'the capture instances cannot be looked up',
    async (link: Link) => {
      const instances = await findInstances(link, names);
      const kept = await askKept(link, names);
      await transactionAfter(link, endOf(kept, names[0] ?? ''), 0);
      return { instances, kept };
    },
  );
  const { last } = found.kept;
  for (const instance of found.instances) {
    if (last === undefined || last < (found.kept.first.get(instance.name) ?? '')) continue;
    const changes = new InstanceChanges({ instance, links, keeps: false, bound: 1 });
    changes.begin(last, last);
    await changes.fill();
  }
}
