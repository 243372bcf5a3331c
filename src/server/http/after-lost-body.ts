import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../lib/time/clock.ts';

/** A client that has not sent the rest after this long may never do so. */
const LINGER_MS = 5_000;

/**
 * Where a connection ends while its client still sends, the client loses the answer: what is left of
 * a body that nobody wants is read first.
 */
export function afterLostBody(
  request: IncomingMessage,
  clock: Pick<Clock, 'sleep'>,
  goOn: () => void,
): void {
  if (request.complete || !endsConnection(request)) return goOn();
  const over = new AbortController();
  const end = (): void => over.abort();
  request.on('end', end).on('close', end).resume();
  void clock.sleep(LINGER_MS, over.signal).then(() => {
    request.off('end', end).off('close', end);
    goOn();
  });
}

/** With the answer. */
function endsConnection({ headers, httpVersion }: IncomingMessage): boolean {
  const wish = headers.connection?.toLowerCase();
  return httpVersion === '1.0' ? wish !== 'keep-alive' : wish === 'close';
}
