import type { PartContext } from '../../kit/context.ts';
import { percentDecoded } from '../../lib/text/percent-decoded.ts';
import type { MqttConnectionConfig } from './config.ts';

/** Keeps the passwords of a config out of every text. */
export function registerLogin(
  { url, password }: Pick<MqttConnectionConfig, 'url' | 'password'>,
  { env }: PartContext,
): void {
  const inUrl = new URL(url).password;
  for (const secret of [password ?? '', inUrl, percentDecoded(inUrl)])
    if (secret !== '') env.redactor.register(secret);
}
