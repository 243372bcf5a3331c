/** Reports what only compiling the transforms of a plan shows, before anything runs. */
import type { Env } from '../../lib/env.ts';
import { ConfigError, messageOf, type Issue } from '../../lib/errors.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Plan, PlannedTransform } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { compileTransforms, resolvedTransforms } from '../stages/compile-transforms.ts';

export interface CompileOptions {
  readonly env: Env;
  readonly tokens: RuntimeTokens;
}

/** Every transform of a plan, each once although several rows may share it. */
export function transformsOf({ rows, topology }: Plan): PlannedTransform[] {
  const nodes = (topology?.nodes ?? []).flatMap((node) =>
    node.kind === 'transform' ? node.transforms : [],
  );
  const all = [...rows.flatMap(({ transforms }) => transforms), ...nodes];
  return [...new Map(all.map((transform) => [transform.path, transform])).values()];
}

export async function compileIssues(
  transforms: readonly PlannedTransform[],
  options: CompileOptions,
): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const transform of transforms) issues.push(...(await issuesOf(transform, options)));
  return issues;
}

async function issuesOf(
  transform: PlannedTransform,
  { env, tokens }: CompileOptions,
): Promise<readonly Issue[]> {
  try {
    const chain = await compileTransforms(resolvedTransforms([transform], tokens), env);
    await chain.close();
    return [];
  } catch (error) {
    const config = joinPath(transform.path, 'config');
    if (!(error instanceof ConfigError))
      return [{ code: 'invalid_value', path: config, message: messageOf(error) }];
    return error.issues;
  }
}
