/** What the tests of transforms share: a way to run a definition from a plain config. */
import { testEnv } from '../fakes/env.ts';
import { check } from '../../src/kit/schema.ts';
import type { RecordsWithOrigins, TransformDefinition } from '../../src/kit/transform.ts';
import { ConfigError, type Issue } from '../../src/lib/errors.ts';
import type { Env } from '../../src/lib/env.ts';
import type { JsonValue } from '../../src/lib/text/json.ts';

/** The issues a config is refused with; empty when it is accepted. */
export function issuesOf(definition: TransformDefinition, config: unknown): readonly Issue[] {
  const checked = check(definition.config, config);
  return checked.ok ? [] : checked.issues;
}

/** What a transform of pages gives. */
export function recordsOf(made: readonly JsonValue[] | RecordsWithOrigins): readonly JsonValue[] {
  return 'origins' in made ? made.records : made;
}

/** Checks and compiles a config and runs copies of the records through it. */
export async function runTransform(
  definition: TransformDefinition,
  config: unknown,
  records: readonly JsonValue[],
  env: Env = testEnv(),
): Promise<readonly JsonValue[]> {
  const checked = check<unknown>(definition.config, config);
  if (!checked.ok) throw new ConfigError(checked.issues);
  const compiled = await definition.compile(checked.value, { env });
  const input = structuredClone(records);
  if (compiled.kind === 'page')
    return recordsOf(await compiled.apply(input, new AbortController().signal));
  const out: JsonValue[] = [];
  for (const record of input) compiled.apply(record, (emitted) => out.push(emitted));
  await compiled.close?.();
  return out;
}
