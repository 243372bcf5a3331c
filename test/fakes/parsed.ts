/** What the schema of a connector makes of a config, which has to be valid. */
import { check } from '../../src/kit/schema.ts';
import type { SinkDefinition } from '../../src/kit/sink.ts';
import type { SourceDefinition } from '../../src/kit/source.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';

export function parsed(definition: SourceDefinition | SinkDefinition, config: JsonObject): never {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

/** Its faults. */
export function issuesOf(
  definition: SourceDefinition | SinkDefinition,
  config: JsonObject,
): string[] {
  const checked = check(definition.config, config);
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path}: ${message}`);
}
