import { T } from '../texts.ts';
import { Icon, type IconName } from './icons.tsx';

const ICONS: Readonly<Record<string, IconName>> = {
  queued: 'queued',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  skipped: 'skipped',
  alive: 'completed',
  lost: 'failed',
  active: 'completed',
  paused: 'paused',
  ended: 'off',
  invalid: 'failed',
  healthy: 'completed',
  unhealthy: 'failed',
  off: 'off',
};

/** A state is told by a sign, a word and a colour: whoever misses one of them has the others. */
export function Status({ of }: { readonly of: string }) {
  return (
    <span class={`status status-${of}`}>
      <Icon name={ICONS[of] ?? 'off'} spins={of === 'running'} />
      <span>{T.status[of] ?? of}</span>
    </span>
  );
}
