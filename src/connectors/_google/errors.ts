/** What a service of Google Cloud says over gRPC when it does not do what it was asked for. */
import { ConnectorError, type ConnectorErrorKind } from '../../lib/errors.ts';
import type { Redactor } from '../../lib/redact.ts';
import { excerptOf } from '../../lib/text/excerpt.ts';
import { tlsFault } from '../../lib/tls-fault.ts';
import { GRPC_STATUS, grpcStatusOf, kindOfGrpcStatus } from '../_grpc/status.ts';
import {
  decoded,
  INSTANT,
  messageType,
  named,
  one,
  some,
  told,
  type Instant,
  type Wire,
} from './messages.ts';

const MS = 1000;
const NANOS_OF_MS = 1_000_000;

/** `reason` and `metadata` of the `ErrorInfo`s of an answer: what it says for programs. */
export interface ErrorInfo {
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
}

interface Any {
  readonly type_url: string;
  readonly value: Uint8Array;
}

const STATUS = messageType<{ details: readonly Any[] }>({
  details: some(3, messageType<Any>({ type_url: one(1, 'string'), value: one(2, 'bytes') })),
});
const ERROR_INFO = messageType<ErrorInfo>({
  reason: one(1, 'string'),
  metadata: named(3, 'string'),
});
const RETRY_INFO = messageType<{ retry_delay: Instant | undefined }>({
  retry_delay: told(1, INSTANT),
});

interface Told {
  readonly grpcStatus: number;
  readonly infos: readonly ErrorInfo[];
}

export class GoogleError extends ConnectorError {
  readonly grpcStatus: number;
  readonly infos: readonly ErrorInfo[];

  constructor(
    { grpcStatus, infos }: Told,
    kind: ConnectorErrorKind,
    message: string,
    options: ConstructorParameters<typeof ConnectorError>[2],
  ) {
    super(kind, message, options);
    this.grpcStatus = grpcStatus;
    this.infos = infos;
  }
}

/** What helps, by the numbers of the statuses. */
export type Hints = Readonly<Record<number, string>>;

export interface Telling {
  readonly doing: string;
  readonly hints: Hints;
  readonly redactor: Redactor;
  readonly wire: Wire;
}

export function googleError(
  error: unknown,
  { doing, hints, redactor, wire }: Telling,
): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const grpcStatus = grpcStatusOf(error);
  const { details, message, metadata } = error as Failure;
  const { infos, retryAfterMs } = detailsOf(metadata, wire);
  // A certificate that is not trusted is not trusted at the second attempt either.
  const tls = grpcStatus === GRPC_STATUS.unavailable ? tlsFault(error) : undefined;
  const hint = tls ?? hints[grpcStatus];
  return new GoogleError(
    { grpcStatus, infos },
    tls === undefined ? kindOfGrpcStatus(grpcStatus) : 'refused',
    `${doing}: ${excerptOf(details ?? message, redactor)}`,
    {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  );
}

interface Failure {
  readonly message: string;
  readonly details?: string;
  readonly metadata?: { get(name: string): readonly (string | Buffer)[] };
}

function detailsOf(
  metadata: Failure['metadata'],
  wire: Wire,
): { readonly infos: readonly ErrorInfo[]; readonly retryAfterMs: number | undefined } {
  const infos: ErrorInfo[] = [];
  let retryAfterMs: number | undefined;
  const [bytes] = metadata?.get('grpc-status-details-bin') ?? [];
  if (bytes === undefined || typeof bytes === 'string') return { infos, retryAfterMs };
  for (const { type_url: type, value } of decoded(wire, STATUS, bytes).details) {
    if (type.endsWith('/google.rpc.ErrorInfo')) infos.push(decoded(wire, ERROR_INFO, value));
    if (!type.endsWith('/google.rpc.RetryInfo')) continue;
    const { retry_delay: delay } = decoded(wire, RETRY_INFO, value);
    if (delay !== undefined)
      retryAfterMs = Number(delay.seconds) * MS + Math.ceil(delay.nanos / NANOS_OF_MS);
  }
  return { infos, retryAfterMs };
}
