/** One message over HTTP: a connection of its own, because nothing is kept between requests. */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { isObject, parseJson, type JsonObject, type JsonValue } from '../lib/text/json.ts';

/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

const messageSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
});

/** What most clients send; one that leaves it out is served all the same. */
const INITIALIZE = {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'unknown', version: '0' },
};

export interface ReadMessage {
  readonly type: 'message';
  readonly method: string;
  /** Absent: nobody waits for an answer. */
  readonly id: string | number | undefined;
  /** The tool that is called. */
  readonly tool: string | undefined;
  readonly message: JSONRPCMessage;
}

/** What is no message, with the answer to it. */
export interface NoMessage {
  readonly type: 'no_message';
  readonly answer: JsonObject;
}

export function readMessage(body: Uint8Array): ReadMessage | NoMessage {
  let value: JsonValue;
  try {
    value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return errorAnswer(null, PARSE_ERROR, 'the body is not JSON');
  }
  const parsed = messageSchema.safeParse(value);
  if (!parsed.success)
    return errorAnswer(null, INVALID_REQUEST, 'the body is not one JSON-RPC 2.0 request');
  const { id, method, params } = parsed.data;
  const name = params?.['name'];
  if (method === 'tools/call' && typeof name !== 'string' && id !== undefined)
    return errorAnswer(id, INVALID_PARAMS, 'the name of the tool is missing');
  if (method === 'tools/call' && !isObject(params?.['arguments'] ?? {}) && id !== undefined)
    return errorAnswer(id, INVALID_PARAMS, 'the arguments of a tool are an object');
  return {
    type: 'message',
    method,
    id,
    tool: method === 'tools/call' && typeof name === 'string' ? name : undefined,
    message: {
      ...parsed.data,
      ...(method === 'initialize' ? { params: { ...INITIALIZE, ...params } } : {}),
    } as JSONRPCMessage,
  };
}

function errorAnswer(id: string | number | null, code: number, message: string): NoMessage {
  return { type: 'no_message', answer: { jsonrpc: '2.0', id, error: { code, message } } };
}

/** Gives the answer of the server; rejects with the reason of the signal when nobody waits for it. */
export async function exchange(
  server: McpServer,
  message: JSONRPCMessage,
  signal: AbortSignal,
): Promise<JsonObject> {
  const answer = Promise.withResolvers<JsonObject>();
  const transport: Transport = {
    start: () => Promise.resolve(),
    send: async (sent) => {
      if ('id' in sent && !('method' in sent)) answer.resolve(sent as unknown as JsonObject);
    },
    close: async () => transport.onclose?.(),
  };
  const leave = (): void => {
    void server.close();
    answer.reject(signal.reason);
  };
  signal.addEventListener('abort', leave, { once: true });
  try {
    await server.connect(transport);
    transport.onmessage?.(message);
    return await answer.promise;
  } finally {
    signal.removeEventListener('abort', leave);
    await server.close();
  }
}
