import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockPlace } from '../define-block.ts';
import type { Resilience } from './schema.ts';

/** What follows when records fail again and again has to be possible in the row. */
export function checkResilience(
  { poison, breaker }: Resilience,
  { name, guarantee, resolved }: AssembledRow,
  { path, issues }: BlockPlace,
): void {
  if (guarantee === 'effectively-once (atomic watermark)' && poison !== undefined) {
    const message = `\`poison\` has no effect for ${name}: with \`exactly_once\` each page is one commit`;
    issues.warn('without_effect', joinPath(path, 'poison'), message);
  }
  if (resolved.blocks.has('dlq')) return;
  if (poison?.action === 'dlq') {
    const message = `\`poison\` sends records to the dead-letter queue, but ${name} has no \`dlq\``;
    issues.error(
      'dlq_required',
      joinPath(path, 'poison'),
      message,
      'add a `dlq` with a `sink`, or set `action` to `drop` or `fail`',
    );
  }
  if (breaker !== undefined) {
    const message = `the circuit breaker never opens for ${name}: without a \`dlq\` the first page that fails ends the run`;
    issues.warn('breaker_unused', joinPath(path, 'circuit_breaker'), message);
  }
}
