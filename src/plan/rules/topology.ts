/** What cannot be combined with nodes, or has no effect there. */
import { joinPath } from '../../lib/text/text-path.ts';
import { executionBlock } from '../../blocks/execution/index.ts';
import { selectionBlock } from '../../blocks/selection/index.ts';
import { parsedBlock, type Placed } from '../../document/parse/read-blocks.ts';
import type { SourceSpec } from '../../document/structure/source.ts';
import type { IssueList } from '../issue-list.ts';
import type { RowContext } from '../row-context.ts';

export function checkBesideNodes({
  blocks,
  definitions,
  issues,
}: Pick<RowContext, 'blocks' | 'definitions' | 'issues'>): void {
  const { pipeline, matrix } = blocks;
  const execution = parsedBlock(blocks, executionBlock)?.value;
  const selection = parsedBlock(blocks, selectionBlock)?.value;
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
  const warn = (path: string, why: string): void => issues.warn('without_effect', path, why);
  if (execution?.max_concurrent !== undefined) {
    warn(
      'execution.max_concurrent',
      '`max_concurrent` has no effect: all nodes of a graph run at the same time',
    );
  }
  if (execution?.schedule === 'lpt')
    warn(
      'execution.schedule',
      '`schedule` has no effect: all nodes of a graph run at the same time',
    );
  if (selection?.include_parents !== undefined)
    warn('selection.include_parents', '`include_parents` has no effect: nodes are not selected');
}

/** What a preset says that would change what is read; a node takes only its type and config. */
const NOT_APPLIED: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  transforms: ['apply the transforms of its preset', 'put them into a `transform` node'],
  complete_for: [
    'remove vanished rows as its preset asks',
    'remove the key, or give the node a preset without it',
  ],
};
const WITHOUT_EFFECT: readonly string[] = ['status', 'tags', 'inherit_transforms'];

export function checkNodePreset(
  { path, value }: Placed<SourceSpec>,
  node: string,
  issues: IssueList,
): void {
  for (const [key, found] of Object.entries(value)) {
    if (found === undefined || (Array.isArray(found) && found.length === 0)) continue;
    const refused = NOT_APPLIED[key];
    if (refused !== undefined) {
      issues.error(
        'conflicting_keys',
        joinPath(path, key),
        `source node \`${node}\` would not ${refused[0]}`,
        refused[1],
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
