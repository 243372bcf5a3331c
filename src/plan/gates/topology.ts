/** What cannot stand together with nodes, or does nothing there. */
import { joinPath } from '../../lib/text-path.ts';
import type { Blocks, Placed } from '../../document/read-blocks.ts';
import type { SourceSpec } from '../../document/blocks/source.ts';
import type { IssueList } from '../issue-list.ts';

export function checkBesideNodes(blocks: Blocks, issues: IssueList): void {
  const { pipeline, matrix, execution, selection, partition } = blocks;
  const exclude = (path: string, what: string, hint: string): void =>
    issues.error('conflicting_keys', path, `${what} and \`pipeline.nodes\` exclude each other`, hint);
  if (matrix !== undefined) exclude('matrix', '`matrix`', 'each sink node is a row of its own');
  if (pipeline.transforms.length > 0) exclude('pipeline.transforms', '`pipeline.transforms`', 'put them into a `transform` node');
  if (partition !== undefined) exclude('partition', '`partition`', 'the nodes of a graph run once');
  const warn = (path: string, why: string): void => issues.warn('without_effect', path, why);
  if (execution?.max_concurrent !== undefined) {
    warn('execution.max_concurrent', '`max_concurrent` has no effect: all nodes of a graph run at the same time');
  }
  if (execution?.schedule === 'lpt') warn('execution.schedule', '`schedule` has no effect: all nodes of a graph run at the same time');
  if (selection?.include_parents !== undefined)
    warn('selection.include_parents', '`include_parents` has no effect: nodes are not selected');
}

/** A template may say things about rows; a node takes only its type and config. */
export function checkNodeTemplate({ path, value }: Placed<SourceSpec>, node: string, issues: IssueList): void {
  if (value.transforms !== undefined && value.transforms.length > 0) {
    const message = `source node \`${node}\` would not apply the transforms of its template`;
    issues.error('conflicting_keys', joinPath(path, 'transforms'), message, 'put them into a `transform` node');
  }
  for (const key of ['status', 'tags', 'inherit_transforms'] as const) {
    if (value[key] === undefined) continue;
    issues.warn('without_effect', joinPath(path, key), `\`${key}\` has no effect for node \`${node}\`: nodes are not selected`);
  }
}
