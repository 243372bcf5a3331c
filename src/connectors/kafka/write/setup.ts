import type { SinkContext } from '../../../kit/context.ts';
import type { ClientSettings } from '../client/client-settings.ts';
import type { clientOptions } from '../client/settings.ts';
import type { KafkaSinkConfig } from '../config.ts';

export interface SinkSetup {
  readonly config: KafkaSinkConfig;
  readonly context: SinkContext;
  readonly settings: ClientSettings;
  readonly options: Awaited<ReturnType<typeof clientOptions>>;
}
