import type { SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import { probeProgram } from '../_programs/probe-program.ts';
import { askCatalog, askCheck, askSpec } from './ask.ts';
import { configuredStream } from './catalog.ts';
import type { AirbyteSourceConfig } from './config.ts';
import { wholeConfig } from './kept-config.ts';

/** Asks the connector itself (`check`), and whether it has the stream. */
export async function probeConnector(
  config: AirbyteSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  const program = probeProgram('executable', config.command[0] ?? '', context);
  if (program.status !== 'pass') return [program];
  const found = async (name: string, look: () => Promise<unknown>): Promise<ProbeFinding> => {
    try {
      await look();
      return { name, status: 'pass' };
    } catch (error) {
      context.signal.throwIfAborted();
      const hint = error instanceof AppError ? error.hint : undefined;
      return { name, status: 'fail', reason: messageOf(error), ...(hint && { hint }) };
    }
  };
  const check = await found('check', async () => {
    const whole = await wholeConfig(config, context);
    await askSpec(config, whole, context);
    await askCheck(config, whole, context);
  });
  if (check.status !== 'pass') return [program, check];
  const stream = await found('stream_in_catalog', async () => {
    const whole = await wholeConfig(config, context);
    configuredStream(config.catalog ?? (await askCatalog(config, whole, context)), config);
  });
  return [program, check, stream];
}
