/**
 * How a sink that commits tokens tells the executions of one run apart, so that one which another
 * server took over commits nothing more.
 */
import { ConnectorError } from '../lib/errors.ts';
import type { SinkContext } from './context.ts';

/** The code of whatever an execution is refused with when a later one has begun. */
export const TAKEN_OVER = 'run_taken_over';

/** One execution of a run that several servers share. */
export interface Execution {
  readonly runId: string;
  readonly claim: number;
}

/** A scope that an execution has taken. It holds it until another one takes it. */
export interface HeldScope {
  readonly scope: string;
  readonly execution: Execution;
}

/** `undefined` where no other server takes the run over. */
export function executionOf({ runId, claim }: SinkContext): Execution | undefined {
  return claim === undefined ? undefined : { runId, claim };
}

/** No state key, and so no scope, starts with a dot. */
export function executionScope(scope: string): string {
  return `.execution:${scope}`;
}

export function executionText({ runId, claim }: Execution): string {
  return `${runId} ${claim}`;
}

/** Whether the scope belongs to a later execution of the same run, as the stored text says. */
export function isLater(stored: string | undefined, { runId, claim }: Execution): boolean {
  const [run, number] = (stored ?? '').split(' ');
  return run === runId && Number(number) > claim;
}

export function takenOverError(scope: string): ConnectorError {
  return new ConnectorError(
    'refused',
    `another server took over the run: nothing more is committed for \`${scope}\` here`,
    { code: TAKEN_OVER },
  );
}

/** A page is committed in the place of what this run knows, and there is something else by now. */
export function movedError(scope: string, cause?: unknown): ConnectorError {
  return new ConnectorError(
    'refused',
    `something else was committed for \`${scope}\` since this run began: nothing more is committed here`,
    { hint: 'start the run again: it goes on after what was committed', cause },
  );
}
