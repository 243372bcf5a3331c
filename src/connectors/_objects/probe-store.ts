import type { ProbeFinding } from '../../kit/probe.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';

/** Without writing: what was begun is given up again. */
export async function probeStore(
  openStore: () => Promise<ObjectStore>,
  prefix: string,
  signal: AbortSignal,
): Promise<ProbeFinding[]> {
  let store: ObjectStore | undefined;
  try {
    store = await openStore();
    await store.tryWrite(`${prefix}headgate-probe`, signal);
    return [
      { name: 'network', status: 'pass' },
      { name: 'auth', status: 'pass' },
    ];
  } catch (error) {
    return findings(error);
  } finally {
    store?.close();
  }
}

function findings(error: unknown): ProbeFinding[] {
  const failed = {
    status: 'fail' as const,
    reason: messageOf(error),
    ...(error instanceof ConnectorError && error.hint !== undefined ? { hint: error.hint } : {}),
  };
  const answered = error instanceof ConnectorError && isAnswer(error);
  if (answered)
    return [
      { name: 'network', status: 'pass' },
      { name: 'auth', ...failed },
    ];
  const isLogin = error instanceof ConnectorError && error.kind === 'auth';
  return isLogin
    ? [{ name: 'auth', ...failed }]
    : [
        { name: 'network', ...failed },
        { name: 'auth', status: 'skip', reason: 'the store was not reached' },
      ];
}

/** Of a store without statuses, what it says of the place. */
function isAnswer({ status, kind, cause }: ConnectorError): boolean {
  return (
    status !== undefined ||
    ((kind === 'refused' || kind === 'missing') && typeof codeOf(cause) === 'number')
  );
}

function codeOf(cause: unknown): unknown {
  return (cause as { readonly code?: unknown } | undefined)?.code;
}
