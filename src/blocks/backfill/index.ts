import { defineBlock } from '../define-block.ts';
import { checkBackfill, UNIT_TOKENS } from './rules.ts';
import { backfillSchema, type BackfillSpec } from './schema.ts';

export const backfillBlock = defineBlock<BackfillSpec>({
  name: 'backfill',
  placement: 'top',
  description:
    'How past ranges of time are run again, unit by unit: `headgate backfill` and `POST /v1/backfill` fill `${backfill.start}` and its like into sources and sinks.',
  schema: backfillSchema,
  examples: [{ window: '1d', timezone: 'Europe/Berlin' }, { window: '6h', concurrency: 4 }, {}],
  plannedFor: 'plan',
  tokens: {
    root: 'backfill',
    hint: 'it is filled in by `headgate backfill` and `POST /v1/backfill`, in sources and sinks',
    granted: (_given, { backfill }) => (backfill ? UNIT_TOKENS : undefined),
  },
  checkPlan: (_spec, plan, place) => checkBackfill(plan, place),
  // Units that are done are remembered in every store.
  usesState: () => true,
  introduce: ({ window, timezone }) => {
    const span = window === undefined ? 'as a whole' : `in windows of ${window}`;
    return `\`headgate backfill\` runs a range of the past again ${span} (${timezone}).`;
  },
});
