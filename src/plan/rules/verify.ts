import type { SourceDefinition } from '../../kit/source.ts';
import type { Parts } from '../../kit/parts.ts';
import { verifyBlock } from '../../blocks/verify/index.ts';
import { parsedBlock, type ParsedBlocks } from '../../document/parse/read-blocks.ts';
import type { IssueList } from '../issue-list.ts';
import type { PartPlanner } from '../plan-part.ts';
import type { RowPlan, VerifyPlan } from '../plan.ts';
import { isObstacle, verificationOf, type VerifyScope } from '../verification.ts';
import { checkAuthRef } from './auth.ts';

/** The source that reads the destination is found and parsed like any other. */
export function planVerify(
  blocks: ParsedBlocks,
  { parts, planner, issues }: { parts: Parts; planner: PartPlanner; issues: IssueList },
): VerifyPlan | undefined {
  const block = parsedBlock(blocks, verifyBlock)?.value;
  if (block === undefined) return undefined;
  const { destination, ...spec } = block;
  if (destination === undefined) return { spec, destination: undefined };
  const path = 'verify.destination';
  const config = destination.config ?? {};
  const resolved = {
    path,
    template: 'default',
    type: destination.type,
    typePath: `${path}.type`,
    config,
    layers: [{ path, config }],
  };
  checkAuthRef(resolved, blocks, issues);
  const source = planner.plan<SourceDefinition>(resolved, parts.sources, 'source');
  return { spec, destination: source?.plan };
}

/** The rows with what is to be verified of them; those that run for others are left out. */
export function withVerify(
  verify: VerifyPlan | undefined,
  rows: readonly RowPlan[],
): readonly RowPlan[] {
  if (verify === undefined) return rows;
  return rows.map((row) => (row.role === 'root' ? Object.freeze({ ...row, verify }) : row));
}

/** A document that asks for a comparison must be one for which it can be made. */
export function checkVerify(
  verify: VerifyPlan | undefined,
  scope: VerifyScope,
  issues: IssueList,
): void {
  if (verify === undefined) return;
  const roots = scope.rows.filter(({ role }) => role === 'root');
  for (const row of scope.topology === undefined ? roots : roots.slice(0, 1)) {
    const verification = verificationOf(row, scope);
    if (isObstacle(verification))
      issues.error('verify_impossible', 'verify', verification.message, verification.hint);
  }
  if (verify.destination !== undefined && roots.length > 1) {
    const message =
      '`verify.destination` reads one destination, and the document has several rows that write one each';
    issues.error(
      'verify_impossible',
      'verify.destination',
      message,
      'leave it out where sinks can be read back, or split the document',
    );
  }
  if (roots.length === scope.rows.length) return;
  const others = scope.rows.filter(({ role }) => role !== 'root').map(({ id }) => `\`${id}\``);
  issues.warn(
    'without_effect',
    'verify',
    `rows that run for the records of others are not compared: ${others.join(', ')}`,
  );
}
