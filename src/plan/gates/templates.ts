import type { Parts } from '../../kit/parts.ts';
import { joinPath } from '../../lib/text-path.ts';
import type { Blocks } from '../../document/read-blocks.ts';
import type { IssueList } from '../issue-list.ts';

/** Templates name parts that exist, also where no row uses them; their configs may be completed by rows and are judged there. */
export function checkTemplates({ pipeline }: Blocks, parts: Parts, issues: IssueList): void {
  for (const [kind, templates, shelf] of [
    ['source', pipeline.sources, parts.sources],
    ['sink', pipeline.sinks, parts.sinks],
  ] as const) {
    for (const placed of templates.values()) {
      if (placed === undefined || shelf.get(placed.value.type) !== undefined) continue;
      const { type } = placed.value;
      issues.error('unknown_type', joinPath(placed.path, 'type'), `there is no ${kind} called \`${type}\``, shelf.suggest(type));
    }
  }
}
