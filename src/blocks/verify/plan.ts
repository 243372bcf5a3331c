import { joinPath } from '../../lib/text/text-path.ts';
import type { Placed } from '../../document/parse/read-blocks.ts';
import type { BlockPlace, BlockTools, PlanInMaking } from '../define-block.ts';
import type { VerifySpec } from './schema.ts';
import { isObstacle, verificationBy, type VerifyPlan } from './verification.ts';

/** The source that reads the destination is found and parsed like any other. */
export function planVerify(
  { path, value: { destination, ...spec } }: Placed<VerifySpec>,
  { planSource }: BlockTools,
): VerifyPlan {
  if (destination === undefined) return { spec, destination: undefined };
  return {
    spec,
    destination: planSource({ path: joinPath(path, 'destination'), value: destination }),
  };
}

/** A document that asks for a comparison must be one for which it can be made. */
export function checkVerify(
  verify: VerifyPlan,
  scope: PlanInMaking,
  { path, issues }: BlockPlace,
): void {
  const roots = scope.rows.filter(({ role }) => role === 'root');
  for (const row of scope.topology === undefined ? roots : roots.slice(0, 1)) {
    const verification = verificationBy(verify, row, scope);
    if (isObstacle(verification))
      issues.error('verify_impossible', path, verification.message, verification.hint);
  }
  if (verify.destination !== undefined && roots.length > 1) {
    const message =
      '`verify.destination` reads one destination, and the document has several rows that write one each';
    issues.error(
      'verify_impossible',
      joinPath(path, 'destination'),
      message,
      'leave it out where sinks can be read back, or split the document',
    );
  }
  if (roots.length === scope.rows.length) return;
  const others = scope.rows.filter(({ role }) => role !== 'root').map(({ id }) => `\`${id}\``);
  issues.warn(
    'without_effect',
    path,
    `rows that run for the records of others are not compared: ${others.join(', ')}`,
  );
}
