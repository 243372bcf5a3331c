/** Why a record was diverted, as envelopes and filters tell it. */
export const DEAD_REASONS = [
  'partial',
  'dlq_all',
  'quality',
  'schema_drift',
  'contract',
  'transform',
  'parse',
] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];
