import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { RunEvent, RunIdentity } from '../../wire/run-event.ts';
import type { RunListener } from './run-listener.ts';

/** Tells all listeners, in their order, whatever one of them does. */
export function followAll(
  listeners: readonly RunListener[],
  run: RunIdentity,
  log: Env['log'],
): (event: RunEvent) => void {
  const fail = ({ name }: RunListener, error: unknown): void =>
    log.warn('a listener of runs failed', {
      listener: name,
      run_id: run.run_id,
      error: messageOf(error),
    });
  const followers = listeners.flatMap((listener) => {
    try {
      return { listener, hear: listener.follow(run) };
    } catch (error) {
      fail(listener, error);
      return [];
    }
  });
  return (event) => {
    for (const { listener, hear } of followers) {
      try {
        hear(event);
      } catch (error) {
        fail(listener, error);
      }
    }
  };
}
