/** Failures of Amazon's services as ours. */
import { ConnectorError, messageOf, type ConnectorErrorKind } from '../errors.ts';

/** `doing` is what cannot be done, for messages. */
export function awsError(error: unknown, doing: string): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const name = awsErrorName(error);
  const { $metadata } = error as { readonly $metadata?: { readonly httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const hint = HINTS.find(([form]) => form.test(name))?.[1];
  // Behind its first line the service repeats what was signed, with the token of the session.
  const [first = ''] = messageOf(inner).split('\n');
  const said = SILENCE.exec(first) === null ? first || name : 'the service does not answer';
  return new ConnectorError(kindOf(name, status), `${doing}: ${said}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
    ...(status === undefined ? {} : { status }),
  });
}

/** The name that the service gives a failure, also where it was wrapped. */
export function awsErrorName(error: unknown): string {
  const { name = '' } = error as { readonly name?: string };
  return error instanceof ConnectorError && error.cause !== undefined
    ? awsErrorName(error.cause)
    : bareName(name);
}

/** Without the service before `.` or `#`. */
function bareName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('#')) + 1);
}

/** What the client says of a socket on which nothing comes any more. */
const SILENCE = /socket timed out after \d+ ms of inactivity/;

const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /^Expired(?:Token)?(?:Exception)?$|TokenExpired/,
    'get new credentials; those of a role are renewed by themselves',
  ],
  [
    /CredentialsProvider/,
    'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role',
  ],
  [
    /InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignature|UnrecognizedClient|InvalidClientTokenId/,
    'check the access key and its secret',
  ],
  [/PermanentRedirect|AuthorizationHeaderMalformed/, 'set `region` to that of the bucket'],
  [/PreconditionFailed/, 'the object was replaced while it was read; run it again'],
  [/EntityTooSmall|InvalidPart/, 'report this: parts were not sent as they should'],
  [/^AccessDenied/, 'let the login do this, e.g. by a policy of its role'],
  [
    /^(?:ResourceNotFoundException|QueueDoesNotExist|NonExistentQueue)$/,
    'check its name, the region and the account',
  ],
];

const KINDS: readonly (readonly [RegExp, ConnectorErrorKind])[] = [
  [
    /^(?:NoSuchBucket|NoSuchKey|NotFound|ResourceNotFoundException|QueueDoesNotExist|NonExistentQueue)$/,
    'missing',
  ],
  [
    /^(?:SlowDown|Throttl\w+|RequestThrottled\w*|RequestLimitExceeded|LimitExceededException|ProvisionedThroughputExceededException|KMSThrottlingException|TooManyRequests\w*|OverLimit)$/,
    'rate_limited',
  ],
  [
    /Credential|InvalidAccessKeyId|Signature|UnrecognizedClient|^(?!ExpiredNextToken).*Token/,
    'auth',
  ],
];

function kindOf(name: string, status: number | undefined): ConnectorErrorKind {
  const known = KINDS.find(([form]) => form.test(name))?.[1];
  if (known !== undefined) return known;
  if (status === 403) return 'refused';
  if (status === 429) return 'rate_limited';
  if (name === 'TimeoutError' || name === 'RequestTimeout') return 'timeout';
  if (name === 'SyntaxError') return 'data';
  // Below 300 the answer was cut off.
  if (status === undefined || status < 300) return 'connection';
  return status >= 500 || /^Internal(?:Server)?(?:Error|Failure)/.test(name)
    ? 'http_5xx'
    : 'refused';
}
