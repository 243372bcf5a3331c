/** Statuses of gRPC, by their numbers, as kinds of errors. */
import type { ConnectorErrorKind } from '../../lib/errors.ts';

export const GRPC_STATUS = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const KINDS: Readonly<Record<number, ConnectorErrorKind>> = {
  1: 'connection',
  2: 'http_5xx',
  3: 'refused',
  4: 'timeout',
  5: 'missing',
  6: 'refused',
  7: 'auth',
  8: 'rate_limited',
  9: 'refused',
  10: 'http_5xx',
  11: 'refused',
  12: 'missing',
  13: 'http_5xx',
  14: 'connection',
  15: 'data',
  16: 'auth',
};

export function kindOfGrpcStatus(code: number): ConnectorErrorKind {
  return KINDS[code] ?? 'connection';
}

/** `NaN` for an error that tells none. */
export function grpcStatusOf(error: unknown): number {
  return error instanceof Error && 'code' in error ? Number(error.code) : Number.NaN;
}
