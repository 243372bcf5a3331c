import { z } from 'zod';
import { batchSize, finding, integer, number, optional, text } from '../../kit/schema.ts';
import { listenAddress } from '../../lib/http/listen-address.ts';

const BODY_BYTES = 1024 * 1024;

export const webhookConfig = z.lazy(() =>
  z.strictObject({
    listen_addr: text()
      .default('127.0.0.1:8080')
      .superRefine((written, ctx) => {
        if (listenAddress(written) === undefined)
          ctx.addIssue(
            finding('invalid_value', 'this is not an address to listen on', {
              hint: 'write host:port, for example 127.0.0.1:8080 or [::1]:8080',
            }),
          );
      })
      .meta({ description: 'Address of this machine that requests are sent to.' }),
    path: z
      .string()
      .default('/webhook')
      .transform((path) => (path.startsWith('/') ? path : `/${path}`))
      .meta({ description: 'Path of the requests; `{key}` is filled from the parent record.' }),
    timeout_secs: number({ min: 0.001, max: 86_400 })
      .default(30)
      .meta({ description: 'Seconds for which requests are taken.' }),
    max_payloads: optional(integer({ min: 1 })).meta({
      description: 'Ends earlier, after so many payloads.',
    }),
    max_body_bytes: integer({ min: 1, max: 1024 * 1024 * 1024 })
      .default(BODY_BYTES)
      .meta({ description: 'Longer bodies are answered with 413.' }),
    auth_token: optional(text()).meta({
      description: 'What senders must give as `Authorization`, alone or after `Bearer`.',
      secret: true,
    }),
    batch_size: batchSize(),
  }),
);

export type WebhookConfig = z.infer<typeof webhookConfig>;
