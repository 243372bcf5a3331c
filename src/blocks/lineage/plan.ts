import type { Placed } from '../../document/parse/read-blocks.ts';
import { nowFault } from '../../document/tokens/now-tokens.ts';
import { classify, restoreEscapes, rewriteTokens } from '../../document/tokens/tokens.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { IssueList } from '../../plan/issue-list.ts';
import type { BlockTools } from '../define-block.ts';
import type { LineageSpec } from './schema.ts';

/** The receivers of lineage events about what rows read and write. */
export interface LineagePlan {
  /** Its `job_name` still holds its tokens. */
  readonly spec: LineageSpec;
  /** As loaded, with escape marks; present when events contain the document. */
  readonly document?: JsonObject;
}

const JOB_NAME = 'lineage.job_name';

export function planLineage(
  { value: lineage }: Placed<LineageSpec>,
  { tree, issues }: BlockTools,
): LineagePlan {
  const { job_name: jobName, ...rest } = lineage;
  if (jobName !== undefined) checkJobName(jobName, issues);
  const {
    include_source_code_facet: tellsDocument,
    include_schema_facet: schema,
    include_column_lineage: columns,
  } = lineage;
  if (lineage.sample_records === 0 && (schema || columns)) {
    const message = 'no record is looked at (`sample_records` is 0), so events contain no columns';
    issues.warn('without_effect', 'lineage.sample_records', message);
  }
  if (tellsDocument) {
    const message =
      'every event holds the whole document; known secrets are masked in it, others are not';
    issues.warn(
      'document_told',
      'lineage.include_source_code_facet',
      message,
      'keep secrets in `${env:…}` or a secrets manager',
    );
  }
  return {
    spec: {
      ...(restoreEscapes(rest as unknown as JsonObject) as unknown as typeof rest),
      job_name: jobName,
    },
    ...(tellsDocument ? { document: tree } : {}),
  };
}

function checkJobName(jobName: string, issues: IssueList): void {
  const replace = (body: string): string => {
    const token = classify(body);
    if (
      token.kind === 'path' &&
      token.path === '' &&
      (token.root === 'name' || token.root === 'row_id')
    )
      return '';
    const fault =
      token.kind === 'now'
        ? nowFault(token.name)
        : { message: `nothing fills in \`\${${body}}\` here` };
    if (fault !== undefined)
      issues.error(
        'unknown_token',
        JOB_NAME,
        fault.message,
        fault.hint ?? 'there are: ${name}, ${row_id}, ${now.*}',
      );
    return '';
  };
  rewriteTokens(jobName, {
    replace,
    tooDeep: () => issues.error('invalid_token', JOB_NAME, 'tokens are nested too deeply'),
  });
}
