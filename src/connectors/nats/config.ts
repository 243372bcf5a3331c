import { z } from 'zod';
import { batchSize, boolean, finding, nullAsAbsent, optional, text } from '../../kit/schema.ts';
import { onDecodeError } from '../_brokers/decode.ts';
import { checkEnd, endOfMessages } from '../_brokers/end.ts';
import { loginKind, nestedLogin, noLogin } from '../_brokers/login.ts';
import { serverOf } from './addresses.ts';
import { isPattern, isSubject } from './subjects.ts';

const AUTHS = ['none', 'token', 'user_password', 'n_key', 'creds_file'] as const;

const auth = () =>
  optional(
    z.preprocess(
      nestedLogin(AUTHS, { user: 'username', pass: 'password', seed: 'nkey' }),
      z.discriminatedUnion('type', [
        noLogin(),
        loginKind(
          'token',
          z.strictObject({ token: text().meta({ description: 'The token.', secret: true }) }),
        ),
        loginKind(
          'user_password',
          z.strictObject({
            username: text().meta({ description: 'User name.' }),
            password: z.string().meta({ description: 'Password.', secret: true }),
          }),
        ),
        loginKind(
          'n_key',
          z.strictObject({
            nkey: text().meta({
              description: 'Seed of the key; it begins with `SU`.',
              secret: true,
            }),
          }),
        ),
        loginKind(
          'creds_file',
          z.strictObject({
            path: text().meta({ description: 'File with the JWT and the seed of a user.' }),
          }),
        ),
      ]),
    ),
  ).meta({ description: 'Login; unset: none but that of the address.' });

const servers = () =>
  z
    .preprocess(
      (value) => (typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value),
      z.array(text()).min(1).default(['nats://127.0.0.1:4222']),
    )
    .superRefine((addresses, ctx) => {
      for (const [index, address] of addresses.entries())
        if (serverOf(address) === undefined)
          ctx.addIssue(
            finding('invalid_value', 'this is not an address of NATS', {
              path: [index],
              hint: 'write `nats://host:4222`, or `tls://host:4222` with encryption',
            }),
          );
    })
    .meta({
      description: 'Addresses of the servers of one cluster; the first that answers is used.',
      secret: true,
      examples: [['nats://127.0.0.1:4222']],
    });

const connection = () => ({
  servers: nullAsAbsent(servers()),
  auth: auth(),
  tls: nullAsAbsent(boolean().default(false)).meta({
    description: 'Whether the connection must be encrypted; `tls://` means the same.',
  }),
  name: optional(text()).meta({
    description: 'How the server lists the connection; unset: `headgate`.',
  }),
});

const JETSTREAM = ['jetstream_stream', 'jetstream_consumer'] as const;

export const natsSourceConfig = z.lazy(() =>
  z
    .strictObject({
      ...connection(),
      subject: text()
        .superRefine((subject, ctx) => {
          if (isPattern(subject)) return;
          const hint = 'write e.g. `orders.new`, `orders.*` or `orders.>`';
          ctx.addIssue(finding('invalid_value', 'this is not a subject', { hint }));
        })
        .meta({ description: 'Subject to read; `*` and `>` stand for parts of it.' }),
      queue_group: optional(text()).meta({
        description:
          'Readers of one group share the messages among them. Not with JetStream, where readers of one consumer do.',
      }),
      jetstream_stream: optional(text()).meta({
        description: 'Stream of JetStream that keeps the messages; with `jetstream_consumer`.',
      }),
      jetstream_consumer: optional(text()).meta({
        description:
          'Pull consumer of that stream, which must exist: it remembers what was acknowledged.',
      }),
      ...endOfMessages(),
      on_decode_error: onDecodeError(),
      batch_size: batchSize(),
    })
    .superRefine((config, ctx) => {
      checkEnd(config, ctx);
      const [given, missing] = config.jetstream_stream === undefined ? [1, 0] : [0, 1];
      if ((config.jetstream_stream === undefined) !== (config.jetstream_consumer === undefined)) {
        const message = `\`${JETSTREAM[given]}\` needs \`${JETSTREAM[missing]}\``;
        ctx.addIssue(finding('missing_key', message, { path: [JETSTREAM[missing] ?? ''] }));
      }
      if (config.jetstream_stream !== undefined && config.queue_group !== undefined)
        ctx.addIssue(
          finding('invalid_value', '`queue_group` has no meaning for a consumer of JetStream', {
            path: ['queue_group'],
            hint: 'remove it: readers of one consumer share its messages',
          }),
        );
    }),
);

export type NatsSourceConfig = z.infer<typeof natsSourceConfig>;

export const natsSinkConfig = z.lazy(() =>
  z.strictObject({
    ...connection(),
    subject: text()
      .superRefine((subject, ctx) => {
        if (isSubject(subject)) return;
        const hint = 'write e.g. `orders.new`, without `*` and `>`';
        ctx.addIssue(finding('invalid_value', 'this is not a subject to publish to', { hint }));
      })
      .meta({ description: 'Subject to publish to.' }),
    subject_field: optional(text()).meta({
      description: 'Field with the subject of a record; where it is missing, `subject` is used.',
    }),
    batch_size: nullAsAbsent(batchSize()).meta({
      description: 'Messages that are sent before the server has confirmed them; 0: a page.',
    }),
  }),
);

export type NatsSinkConfig = z.infer<typeof natsSinkConfig>;
export type NatsConnectionConfig = Pick<NatsSinkConfig, 'servers' | 'auth' | 'tls' | 'name'>;
