import type { ProbeFinding } from '../../kit/probe.ts';
import { defineSource } from '../../kit/source.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { webhookConfig, type WebhookConfig } from './config.ts';

export const webhookSource = defineSource<WebhookConfig>({
  type: 'webhook',
  description: 'Takes what others send to it by HTTP, for a while.',
  config: webhookConfig,
  examples: [
    { max_payloads: 100, timeout_secs: 60 },
    {
      listen_addr: '0.0.0.0:9000',
      path: '/orders',
      auth_token: 'hunter2-secret',
      timeout_secs: 600,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ listen_addr: address, path }) => `webhook://${address}${path}`,
  readsJson: true,
  open: async (config, context) => new (await import('./source.ts')).WebhookSource(config, context),
  probe: probeWebhook,
});

/** Listens for a moment, and takes nothing. */
async function probeWebhook({ listen_addr: listen, path }: WebhookConfig): Promise<ProbeFinding[]> {
  const { Receiver } = await import('./receiver.ts');
  try {
    const take = (): Promise<number> => Promise.resolve(503);
    const receiver = await Receiver.open({ listen, path, maxBodyBytes: 0, token: undefined, take });
    await receiver.close();
    return [{ name: 'io', status: 'pass' }];
  } catch (error) {
    const hint = error instanceof AppError && error.hint !== undefined ? { hint: error.hint } : {};
    return [{ name: 'io', status: 'fail', reason: messageOf(error), ...hint }];
  }
}
