/** What keeps an encrypted connection from being made: repeating the attempt does not help. */
const TRUST =
  'the certificate of the server is not trusted, or is for another host: add its authority with the environment variable NODE_EXTRA_CA_CERTS, or name it where the config has a field for it';
const NO_TLS = 'the server does not speak TLS on this port: check the port, or connect without TLS';

const FAULTS: readonly (readonly [RegExp, string])[] = [
  [
    /self.signed|unable to (?:get|verify)|UNABLE_TO_|CERT_(?:HAS_EXPIRED|NOT_YET|SIGNATURE|UNTRUSTED|REJECTED)|certificate (?:has expired|is not yet valid)|ALTNAME|does not match certificate/i,
    TRUST,
  ],
  [/wrong version number|WRONG_VERSION|packet length too long|PACKET_LENGTH|http request/i, NO_TLS],
];
const DEPTH = 8;

/** What to do about it; `undefined` when it is something else. */
export function tlsFault(error: unknown): string | undefined {
  const text = [...saidBy(error, DEPTH)].join(' ');
  return FAULTS.find(([pattern]) => pattern.test(text))?.[1];
}

function* saidBy(error: unknown, depth: number): Generator<string> {
  if (!(error instanceof Error) || depth === 0) return;
  yield error.message;
  if ('code' in error) yield String(error.code);
  if (error instanceof AggregateError)
    for (const one of error.errors) yield* saidBy(one, depth - 1);
  yield* saidBy(error.cause, depth - 1);
}
