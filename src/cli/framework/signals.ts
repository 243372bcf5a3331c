import { StopReason } from '../../lib/errors.ts';
import { signalExit } from './exit.ts';
import type { StopSignal, World } from './world.ts';

/**
 * One request to stop often arrives twice: from the terminal, which signals the whole process
 * group, and from a launcher (`npx`, npm, `timeout`, systemd). A second signal within this time is
 * such a repetition, not a second request.
 */
const ECHO_MS = 400;

export interface Stops extends Disposable {
  /** Fires at the first signal; its reason is a `StopReason`. */
  readonly signal: AbortSignal;
  /** The signal that asked for the stop. */
  received(): StopSignal | undefined;
}

/** The first SIGINT or SIGTERM asks to stop, the second ends the process at once. */
export function listenForStop(
  world: World,
  why: 'cancel' | 'shutdown',
  announce: (signal: StopSignal) => void,
): Stops {
  const controller = new AbortController();
  let first: { readonly signal: StopSignal; readonly atMs: number } | undefined;
  const unsubscribe = world.onSignal((signal) => {
    const atMs = world.clock.elapsedMs();
    if (first === undefined) {
      first = { signal, atMs };
      announce(signal);
      controller.abort(new StopReason(why, `stopped by ${signal}`));
    } else if (atMs - first.atMs >= ECHO_MS) {
      world.exit(signalExit(signal));
    }
  });
  return {
    signal: controller.signal,
    received: () => first?.signal,
    [Symbol.dispose]: unsubscribe,
  };
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
