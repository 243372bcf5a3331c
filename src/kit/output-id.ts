import type { SinkContext } from './context.ts';

/**
 * Names what one sink writes in an invocation. The sink of a row and its dead-letter queue have the
 * same invocation, and may write to one place.
 */
export function outputId({
  role,
  invocationId,
}: Pick<SinkContext, 'role' | 'invocationId'>): string {
  return role === 'dlq' ? `${invocationId}-dlq` : invocationId;
}
