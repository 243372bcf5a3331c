import type { ClusterStore } from '../../history/cluster.ts';
import type { Instance } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { mayBeAlive } from '../service/instance.ts';

/**
 * A server that works alone fails runs whose server is lost; one of a cluster takes them over. Both
 * on one history would undo each other's work. Rejects with `RefusedError`.
 */
export async function refuseMixture(
  store: ClusterStore,
  {
    env,
    self,
    isClustered,
  }: { readonly env: Pick<Env, 'log'>; readonly self: Instance; readonly isClustered: boolean },
): Promise<void> {
  const members = await store.members().catch((error: unknown) => {
    env.log.warn('it is not known which servers use the history', { error: messageOf(error) });
    return [];
  });
  const other = members.find(
    (member) =>
      member.isAlive &&
      member.isClustered !== isClustered &&
      (member.host !== self.host || mayBeAlive(member)),
  );
  if (other === undefined) return;
  const which = isClustered ? 'without' : 'with';
  throw new RefusedError(
    'conflict',
    `a server ${which} --cluster uses the same history (it listens on ${other.listen ?? 'an unknown address'}, process ${other.pid})`,
    {
      hint: 'start all servers of one history with `--cluster`, or none; one that was killed counts as gone after a minute',
    },
  );
}
