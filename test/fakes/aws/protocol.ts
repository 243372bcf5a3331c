/** The JSON protocol that several services of Amazon speak. */
import type { Reply, SeenRequest } from '../http-server.ts';

export type Input = Readonly<Record<string, unknown>>;

/** What a service answers to an operation; an error is thrown as `Fault`. */
export type Operation = (input: Input, request: SeenRequest) => unknown;

export class Fault extends Error {
  readonly type: string;
  readonly status: number;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

/** `AmazonSQS.SendMessageBatch` is the operation `SendMessageBatch`. */
export function operationOf({ headers }: SeenRequest): string {
  return (headers['x-amz-target'] ?? '').split('.').at(-1) ?? '';
}

export async function answerCall(
  request: SeenRequest,
  operations: Readonly<Record<string, Operation>>,
): Promise<Reply> {
  try {
    if (!/^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\//.test(request.headers['authorization'] ?? ''))
      throw new Fault('MissingAuthenticationToken', 'the request is not signed', 403);
    const operation = operations[operationOf(request)];
    if (operation === undefined) throw new Fault('UnknownOperationException', 'no such operation');
    return { json: (await operation((request.json() ?? {}) as Input, request)) ?? {} };
  } catch (error) {
    if (error instanceof Fault) return faultReply(error);
    throw error;
  }
}

export function faultReply({ type, message, status }: Fault): Reply {
  return { status, json: { __type: `com.amazonaws.service#${type}`, message } };
}
