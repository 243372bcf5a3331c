import { defineBlock } from '../define-block.ts';
import { planLineage, type LineagePlan } from './plan.ts';
import { lineageSchema, type LineageSpec } from './schema.ts';

export const lineageBlock = defineBlock<LineageSpec, LineagePlan, LineagePlan>({
  name: 'lineage',
  placement: 'top',
  description:
    'Tells a collector what each row reads and writes, as OpenLineage events (2-0-2). An event that cannot be sent is logged and counted; it never fails a run. Dry runs send none.',
  asWritten: true,
  schema: lineageSchema,
  examples: [
    { namespace: 'warehouse', transport: { type: 'file', config: { path: 'lineage.jsonl' } } },
    {
      namespace: 'warehouse',
      transport: { type: 'kafka', config: { brokers: 'kafka-1:9092', topic: 'lineage' } },
    },
    {
      namespace: 'warehouse',
      transport: {
        type: 'http',
        config: {
          url: 'http://collector:5000/api/v1/lineage',
          auth: { type: 'bearer', config: { token: '${env:LINEAGE_TOKEN}' } },
        },
      },
      include_schema_facet: true,
      include_column_lineage: true,
      emit_on: { running: true },
      heartbeat_interval: 10,
    },
  ],
  plannedFor: 'plan',
  judgesTokensOf: ['job_name'],
  prepare: planLineage,
});
