import type { PartContext, SinkContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, messageOf } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { probeProgram } from '../_programs/probe-program.ts';
import { askCatalog, askCheck, askSpec } from './ask.ts';
import { configuredStream } from './catalog.ts';
import type { AirbyteSourceConfig } from './config.ts';
import type { ConnectorConfig } from './connector-config.ts';
import { wholeConfig } from './kept-config.ts';
import type { AirbyteSinkConfig } from './sink-config.ts';
import { requireMode } from './written-catalog.ts';

/** Asks the connector itself (`check`), and whether it has the stream. */
export function probeConnector(
  config: AirbyteSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  return probe(config, context, {
    name: 'stream_in_catalog',
    look: async () => {
      const whole = await wholeConfig(config, context);
      configuredStream(config.catalog ?? (await askCatalog(config, whole, context)), config);
    },
  });
}

/** Asks the connector itself (`check`), and whether it has the mode. */
export function probeDestination(
  config: AirbyteSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  return probe(config, context, {
    name: 'write_mode',
    look: (spec) => requireMode(spec, config),
  });
}

interface LastCheck {
  readonly name: string;
  readonly look: (spec: JsonObject) => Promise<void> | void;
}

async function probe(
  config: ConnectorConfig,
  context: PartContext,
  last: LastCheck,
): Promise<ProbeFinding[]> {
  const program = probeProgram('executable', config.command[0] ?? '', context);
  if (program.status !== 'pass') return [program];
  const found = async (name: string, look: () => Promise<void> | void): Promise<ProbeFinding> => {
    try {
      await look();
      return { name, status: 'pass' };
    } catch (error) {
      context.signal.throwIfAborted();
      const hint = error instanceof AppError ? error.hint : undefined;
      return { name, status: 'fail', reason: messageOf(error), ...(hint && { hint }) };
    }
  };
  let spec: JsonObject = {};
  const check = await found('check', async () => {
    const whole = await wholeConfig(config, context);
    spec = await askSpec(config, whole, context);
    await askCheck(config, whole, context);
  });
  if (check.status !== 'pass') return [program, check];
  return [program, check, await found(last.name, () => last.look(spec))];
}
