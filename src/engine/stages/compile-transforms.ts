/** The only place where transforms are compiled: for runs, their threads, previews and checks. */
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import type { TransformDefinition } from '../../kit/transform.ts';
import type { Env } from '../../lib/env.ts';
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
    for (const { type, definition, config, path } of transforms) {
      const compiled = await definition.compile(config, { env });
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

export function resolvedTransforms(
  transforms: readonly PlannedTransform[],
  tokens: RuntimeTokens,
): TransformToCompile[] {
  return transforms.map((transform) => ({ ...transform, config: resolvePart(transform, tokens) }));
}
