import { z } from 'zod';
import {
  batchSize,
  boolean,
  finding,
  integer,
  json,
  nullAsAbsent,
  number,
  optional,
  text,
} from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { auth } from '../_http/auth.ts';
import { jsonPath } from '../_http/json-path.ts';
import { connectionTls } from '../_http/tls.ts';

const DECODED_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 1024 * 1024 * 1024;

const seconds = () => number({ min: 0.001, max: 86_400 });

const metadata = () =>
  z.strictObject({
    entries: z
      .array(
        z.strictObject({
          key: text()
            .superRefine((key, ctx) => {
              if (/^[0-9a-z_.-]+$/i.test(key) && !/^grpc-/i.test(key)) return;
              const hint =
                'letters, digits, `_`, `-` and `.`; names that begin with `grpc-` are not free';
              ctx.addIssue(finding('invalid_value', 'this is not a key of metadata', { hint }));
            })
            .meta({ description: 'Key; the value of one that ends in `-bin` is bytes as base64.' }),
          value: z
            .string()
            .regex(
              /^[\u0020-\u007e]*$/,
              'is not ASCII text; other bytes go as base64 under a key that ends in `-bin`',
            )
            .meta({ description: 'Value.', secret: true }),
        }),
      )
      .min(1)
      .meta({ description: 'Entries in the order in which they are sent; a key may come again.' }),
  }) as z.ZodType<JsonObject & { entries: { key: string; value: string }[] }>;

const endpoint = () =>
  text()
    .superRefine((value, ctx) => {
      if (isEndpoint(value)) return;
      ctx.addIssue(
        finding('invalid_value', 'this is not the address of a gRPC server', {
          hint: 'write `http://host:50051`, or `https://host:443` with TLS, without a path and a login',
        }),
      );
    })
    .meta({
      description: 'Address of the server: `http://host:port`, or `https://host:port` with TLS.',
      examples: ['https://api.example.com:443'],
    });

function isEndpoint(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { pathname, search, hash, username, password } = new URL(value);
  return /^\/?$/.test(pathname + search + hash + username + password);
}

export const grpcConfig = z.lazy(() =>
  z
    .strictObject({
      endpoint: endpoint(),
      service_name: text().meta({
        description: 'Full name of the service, with its package.',
        examples: ['shop.v1.Orders'],
      }),
      method_name: text().meta({ description: 'Method to call.', examples: ['ListOrders'] }),
      descriptor_set_path: text().meta({
        description:
          'File with the descriptors of the service and of all that it imports, as `protoc --include_imports --descriptor_set_out=…` or `buf build -o …` writes it.',
      }),
      request: nullAsAbsent(json().default({})).meta({
        description: 'Request message as JSON; a field that the message does not have is an error.',
      }),
      auth: auth(['none', 'bearer'], { metadata }),
      tls: connectionTls(
        'TLS: `true`, `false`, or a block with the authority, the name or a client certificate; unset: by the scheme of `endpoint`.',
      ),
      records_path: optional(jsonPath()).meta({
        description:
          'JSONPath of the records in a response; of a stream, in each message; unset: the response is the record.',
        examples: ['$.orders[*]'],
      }),
      rpc_kind: nullAsAbsent(z.enum(['unary', 'server_streaming']).default('unary')).meta({
        description: 'Whether the method answers with one message or with a stream of them.',
      }),
      include_defaults: nullAsAbsent(boolean().default(true)).meta({
        description:
          'Whether fields that a message left at their default (0, empty, false) are in the record; protocol buffers do not send them.',
      }),
      timeout: optional(seconds()).meta({
        description:
          'Deadline of a call, in seconds, which the server is told; of a stream, of the whole stream; unset: none.',
      }),
      max_messages: optional(integer({ min: 1 })).meta({
        description: 'Messages of a stream after which the run ends; unset: no limit.',
      }),
      terminate_on_error: nullAsAbsent(boolean().default(false)).meta({
        description:
          'Whether a stream that breaks off ends the run, which otherwise calls the method again.',
      }),
      reconnect_initial_backoff: nullAsAbsent(number({ min: 0, max: 86_400 }).default(1)).meta({
        description: 'Seconds before a stream is called again; doubled after each attempt.',
      }),
      reconnect_max_backoff: nullAsAbsent(number({ min: 0, max: 86_400 }).default(30)).meta({
        description: 'Longest of these waits, in seconds.',
      }),
      reconnect_max_attempts: optional(integer({ min: 0 })).meta({
        description: 'Attempts without a new message in between; unset: no limit.',
      }),
      reconnect_replay_from_start: nullAsAbsent(boolean().default(true)).meta({
        description:
          'Whether the server begins anew when it is called again, so that as many messages as were read are passed over.',
      }),
      max_decoding_message_size: nullAsAbsent(
        integer({ min: 1, max: MOST_BYTES }).default(DECODED_BYTES),
      ).meta({ description: 'Longest message that is received, in bytes.' }),
      max_encoding_message_size: optional(integer({ min: 1, max: MOST_BYTES })).meta({
        description: 'Longest request that is sent, in bytes; unset: no limit.',
      }),
      batch_size: batchSize(),
    })
    .superRefine((config, ctx) => {
      const { rpc_kind: kind, max_messages: most, endpoint: address, tls } = config;
      if (kind === 'unary' && most !== undefined)
        ctx.addIssue(
          finding('invalid_value', 'a unary method answers with one message', {
            path: ['max_messages'],
            hint: 'remove it, or set `rpc_kind: server_streaming`',
          }),
        );
      if (tls === false && /^https:/i.test(address))
        ctx.addIssue(
          finding('invalid_value', '`tls: false` and an `https` address contradict each other', {
            path: ['tls'],
            hint: 'remove it, or write `http://`',
          }),
        );
    }),
);

export type GrpcConfig = z.infer<typeof grpcConfig>;
