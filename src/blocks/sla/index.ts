import { defineBlock } from '../define-block.ts';
import { explainSla } from './explain.ts';
import { checkSla } from './rules.ts';
import { needsHistory, slaSchema, type SlaConfig } from './schema.ts';

export const slaBlock = defineBlock<SlaConfig>({
  name: 'sla',
  placement: 'top',
  description:
    'What is expected of a row. A violation is logged and counted; it never fails a run.',
  inRows: {
    description: 'Replaces the service-level checks of the document; null means none.',
    nullable: true,
  },
  schema: slaSchema,
  examples: [
    { max_staleness_secs: 86_400, min_rows_per_run: 1 },
    { volume_anomaly: { method: 'iqr', min_history: 7 } },
  ],
  plannedFor: 'rows',
  checkRow: checkSla,
  usesState: needsHistory,
  events: [{ kind: 'sla_breach', needs: '`sla`', canHappen: () => true }],
  explain: explainSla,
  settings: (sla) => sla,
});
