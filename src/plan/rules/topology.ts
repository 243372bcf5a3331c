/** What cannot be combined with nodes, or has no effect there. */
import { joinPath } from '../../lib/text/text-path.ts';
import { parsedBlock, type Placed } from '../../document/parse/read-blocks.ts';
import type { SourceSpec } from '../../document/structure/source.ts';
import type { RowContext } from '../row-context.ts';

export function checkBesideNodes({
  blocks,
  definitions,
  issues,
}: Pick<RowContext, 'blocks' | 'definitions' | 'issues'>): void {
  const { pipeline, matrix } = blocks;
  const exclude = (path: string, what: string, hint: string): void =>
    issues.error(
      'conflicting_keys',
      path,
      `${what} and \`pipeline.nodes\` exclude each other`,
      hint,
    );
  if (matrix !== undefined) exclude('matrix', '`matrix`', 'each sink node is a row of its own');
  if (pipeline.transforms.length > 0)
    exclude('pipeline.transforms', '`pipeline.transforms`', 'put them into a `transform` node');
  for (const definition of definitions) {
    const placed = parsedBlock(blocks, definition);
    if (placed !== undefined && definition.notBesideNodes !== undefined)
      exclude(placed.path, `\`${definition.name}\``, definition.notBesideNodes);
  }
  for (const definition of definitions) {
    const placed = parsedBlock(blocks, definition);
    const useless =
      placed === undefined ? [] : (definition.withoutEffectBesideNodes?.(placed.value) ?? []);
    for (const { key, message } of useless)
      issues.warn('without_effect', joinPath(definition.name, key), message);
  }
}

/** What a preset says that would change what is read; a node takes only its type and config. */
const TRANSFORMS = {
  what: 'apply the transforms of its preset',
  hint: 'put them into a `transform` node',
};
const WITHOUT_EFFECT: readonly string[] = ['status', 'tags', 'inherit_transforms'];

export function checkNodePreset(
  { path, value }: Placed<SourceSpec>,
  node: string,
  { definitions, issues }: Pick<RowContext, 'definitions' | 'issues'>,
): void {
  for (const [key, found] of Object.entries(value)) {
    if (found === undefined || (Array.isArray(found) && found.length === 0)) continue;
    const refused =
      key === 'transforms' ? TRANSFORMS : definitions.find(({ name }) => name === key)?.notOnNodes;
    if (refused !== undefined) {
      issues.error(
        'conflicting_keys',
        joinPath(path, key),
        `source node \`${node}\` would not ${refused.what}`,
        refused.hint,
      );
    } else if (WITHOUT_EFFECT.includes(key)) {
      issues.warn(
        'without_effect',
        joinPath(path, key),
        `\`${key}\` has no effect for node \`${node}\`: nodes are not selected`,
      );
    }
  }
}
