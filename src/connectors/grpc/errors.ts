import { ConnectorError, messageOf, type ConnectorErrorKind } from '../../lib/errors.ts';
import { tlsFault } from '../../lib/tls-fault.ts';
import { GRPC_STATUS, grpcStatusOf, kindOfGrpcStatus } from '../_grpc/status.ts';

interface Fault {
  readonly kind: ConnectorErrorKind;
  readonly hint?: string;
}

/** What helps, by the numbers of the statuses of gRPC. */
const HINTS: Readonly<Record<number, string>> = {
  3: 'check `request`',
  4: 'raise `timeout`, or ask for less',
  7: 'the login has no permission for this; check its permissions',
  11: 'check `request`',
  12: 'check `service_name` and `method_name`, and whether the server is the one of the descriptors',
  [GRPC_STATUS.unauthenticated]: 'check `auth`: the server does not know this login',
};

export function grpcError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const message = messageOf(error);
  const { kind, hint } = faultOf(grpcStatusOf(error), message);
  return new ConnectorError(kind, `${doing}: ${message}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Whether the server did not know the login, which may be a token that is no longer good. */
export function isUnknownLogin(error: unknown): boolean {
  const cause = error instanceof ConnectorError ? error.cause : error;
  return grpcStatusOf(cause) === GRPC_STATUS.unauthenticated;
}

function faultOf(code: number, message: string): Fault {
  if (/Received message (?:larger than|that decompresses)/.test(message))
    return { kind: 'data', hint: 'raise `max_decoding_message_size`' };
  if (/Attempted to send message with a size larger than/.test(message))
    return { kind: 'refused', hint: 'raise `max_encoding_message_size`' };
  const tls = tlsFault(new Error(message));
  if (code === 14 && tls !== undefined) return { kind: 'refused', hint: tls };
  const [kind, hint] = [kindOfGrpcStatus(code), HINTS[code]];
  return hint === undefined ? { kind } : { kind, hint };
}
