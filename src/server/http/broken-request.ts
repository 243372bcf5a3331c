/**
 * Requests that no HTTP framework ever sees: an unreadable head, too many headers, one that never
 * ends, one for a proxy.
 */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Redactor } from '../../lib/redact.ts';
import { errorBody, statusOf, type ErrorCode, type Failure } from '../errors.ts';

const KNOWN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'the header fields are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};

export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  redactor: Redactor,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, message] = KNOWN[error.code ?? ''] ?? [
    'bad_config',
    'the request is not valid HTTP',
  ];
  answerOnSocket({ code, message, hidden: false }, socket, redactor);
}

/** `CONNECT` wants a tunnel through a proxy. */
export function answerTunnel(socket: Duplex, redactor: Redactor): void {
  socket.on('error', () => socket.destroy());
  // Node does not look after it any more: left open, it would keep the server from closing.
  socket.once('finish', () => socket.destroy());
  const message = 'CONNECT is not possible here: this server is no proxy';
  answerOnSocket({ code: 'method_not_allowed', message, hidden: false }, socket, redactor);
}

function answerOnSocket(failure: Failure, socket: Duplex, redactor: Redactor): void {
  const status = statusOf(failure.code);
  const body = errorBody(failure, redactor);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
