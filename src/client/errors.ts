/** Why a request was not answered with what was asked for. */
export class HeadgateError extends Error {
  override readonly name = 'HeadgateError';
  /** Stable: what the server sent, or `unreachable`, `bad_answer`, `bad_address`, `bad_token`. */
  readonly code: string;
  /** HTTP status; absent when no server answered. */
  readonly status: number | undefined;
  /** What to do about it. */
  readonly hint: string | undefined;
  /** More of it, in a form that depends on the code; problems of a document, for example. */
  readonly details: unknown;

  constructor(message: string, about: ErrorDetails) {
    super(message, { cause: about.cause });
    this.code = about.code;
    this.status = about.status;
    this.hint = about.hint;
    this.details = about.details;
  }
}

interface ErrorDetails {
  readonly code: string;
  readonly status?: number;
  readonly hint?: string | undefined;
  readonly details?: unknown;
  readonly cause?: unknown;
}

/** What servers of ours send; anything else comes from a proxy or another program. */
export async function errorOf(answer: Response): Promise<HeadgateError> {
  const { status } = answer;
  const body: unknown = await answer.json().catch(() => undefined);
  const { code, message, details } = membersOf(membersOf(body)['error']);
  return new HeadgateError(
    typeof message === 'string' ? message : `the server answered with status ${status}`,
    {
      code: typeof code === 'string' ? code : 'bad_answer',
      status,
      hint: hintOf(status),
      details,
    },
  );
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function hintOf(status: number): string | undefined {
  if (status === 401) return 'send a token that the server knows';
  if (status === 403) return 'the role of the token does not permit this';
  return undefined;
}

export function unreachable(server: string, cause: unknown): HeadgateError {
  const reason = cause instanceof Error ? (reasonOf(cause.cause) ?? cause.message) : String(cause);
  const { says, hint } = OTHER_PROGRAMS.find(({ pattern }) => pattern.test(reason)) ?? NOBODY;
  return new HeadgateError(`${says} ${server}: ${reason}`, { code: 'unreachable', hint, cause });
}

const NOBODY = {
  says: 'there is no server at',
  hint: 'check the address, and that the server is running',
};

/** What is told where something answers that is no server of ours. */
const OTHER_PROGRAMS = [
  {
    pattern: /TLS connection|SSL|wrong version number|packet length too long/i,
    says: 'there is no TLS at',
    hint: 'write http:// where the server speaks no TLS, and check the port',
  },
  {
    pattern: /other side closed|Parse Error|does not match the HTTP/i,
    says: 'there is no HTTP at',
    hint: 'check the port: another program may listen there',
  },
];

function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as NodeJS.ErrnoException;
  return cause.message === '' ? code : cause.message;
}
