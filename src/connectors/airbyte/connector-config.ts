/** What sources and destinations of Airbyte have in common: how a program of theirs is started. */
import { z } from 'zod';
import { json, nullAsAbsent, optional, text } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';

interface Started {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly config_file?: string | undefined;
  readonly stream?: string | undefined;
  readonly namespace?: string | undefined;
  readonly idle_timeout_secs?: number | undefined;
}

export type ConnectorConfig = Started &
  ({ readonly source_config: JsonObject } | { readonly destination_config: JsonObject });

export function isSource(
  config: ConnectorConfig,
): config is ConnectorConfig & { readonly source_config: JsonObject } {
  return 'source_config' in config;
}

export function ownConfig(config: ConnectorConfig): JsonObject {
  return isSource(config) ? config.source_config : config.destination_config;
}

/** The field of the document that holds the config of the connector. */
export function configField(config: ConnectorConfig): string {
  return isSource(config) ? 'source_config' : 'destination_config';
}

/** A text is a program, or the name of a field, alone. */
export const texts = (schema: z.ZodType<string[]>) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), schema);

export const commandField = (verb: 'read' | 'write', examples: string[][]) =>
  texts(z.array(text()).min(1)).meta({
    description: `The connector: a program on the PATH, or its path, with the arguments that come before \`${verb}\`.`,
    examples,
  });

export const argsField = (files: string) =>
  nullAsAbsent(z.array(z.string()).default([])).meta({ description: `Arguments after ${files}.` });

export const ownConfigField = () =>
  nullAsAbsent(z.record(z.string(), json()).default({})).meta({
    description: 'The config of the connector; it gets it as a file that only this user can read.',
    secret: true,
  });

export const configFileField = (own: string) =>
  optional(text()).meta({
    description: `File that keeps the config which the connector asks to keep, such as a rotated token; only this user can read it. Its fields go before those of \`${own}\`. Without it, such a config is lost, with a warning.`,
  });

export const malformedField = () =>
  nullAsAbsent(z.enum(['skip', 'fail']).default('skip')).meta({
    description: 'What happens with lines that are no messages of the protocol.',
  });
