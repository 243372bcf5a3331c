import type { IncomingMessage } from 'node:http';

/**
 * Where a connection ends while its client still sends, the client loses the answer: what is left of
 * a body that nobody wants is read first.
 */
export function afterLostBody(request: IncomingMessage, goOn: () => void): void {
  if (request.complete || !endsConnection(request)) return goOn();
  const ended = (): void => {
    request.off('end', ended).off('close', ended);
    goOn();
  };
  request.on('end', ended).on('close', ended).resume();
}

/** With the answer. */
function endsConnection({ headers, httpVersion }: IncomingMessage): boolean {
  const wish = headers.connection?.toLowerCase();
  return httpVersion === '1.0' ? wish !== 'keep-alive' : wish === 'close';
}
