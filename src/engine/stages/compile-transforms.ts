/** The only place where transforms are compiled: for runs, their threads, previews and checks. */
import { stepsOf } from '../../document/parse/steps.ts';
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import type { TransformDefinition } from '../../kit/transform.ts';
import type { Env } from '../../lib/env.ts';
import { ConfigError } from '../../lib/errors.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { PlannedTransform } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { TransformChain, type NamedTransform } from './transform-chain.ts';

export interface TransformToCompile {
  readonly type: string;
  readonly definition: TransformDefinition;
  /** Checked, with run-time tokens filled in. */
  readonly config: unknown;
  /** Its place in the document, where it has one. */
  readonly path?: string;
}

/** The chain is the caller's to close. When one transform fails, those before it are closed. */
export async function compileTransforms(
  transforms: readonly TransformToCompile[],
  env: Env,
): Promise<TransformChain> {
  const done: NamedTransform[] = [];
  try {
    for (const transform of transforms) {
      const { type, definition, config, path } = transform;
      const compiled = await compiledAt(transform, env);
      const asked = compiled.kind === 'page' ? compiled.schemaAfter?.bind(compiled) : undefined;
      done.push({
        type,
        path,
        quarantines: definition.quarantines?.(config) === true,
        compiled,
        schemaAfter: asked ?? ((input) => definition.schema?.(config, input) ?? UNKNOWN_SCHEMA),
      });
    }
    return new TransformChain(done);
  } catch (error) {
    await new TransformChain(done).close();
    throw error;
  }
}

/** A transform calls its settings by its own name, `sql.query`; a document by their place. */
async function compiledAt(
  { type, definition, config, path }: TransformToCompile,
  env: Env,
): Promise<Awaited<ReturnType<TransformDefinition['compile']>>> {
  try {
    return await definition.compile(config, { env });
  } catch (error) {
    if (!(error instanceof ConfigError) || path === undefined) throw error;
    const issues = error.issues.map((issue) => {
      const [first, ...rest] = stepsOf(issue.path);
      return { ...issue, path: joinPath(path, 'config', ...(first === type ? rest : [])) };
    });
    throw new ConfigError(issues, { stage: error.stage, cause: error.cause });
  }
}

export function resolvedTransforms(
  transforms: readonly PlannedTransform[],
  tokens: RuntimeTokens,
): TransformToCompile[] {
  return transforms.map((transform) => ({ ...transform, config: resolvePart(transform, tokens) }));
}
