import { defineBlock } from '../define-block.ts';
import { checkDelivery, explainDelivery, planDelivery, planMembers } from './plan.ts';
import { deliverySchema, type Delivery } from './schema.ts';

export const deliveryBlock = defineBlock<Delivery>({
  name: 'delivery',
  placement: 'top',
  description: 'What a run promises about records that are read twice after a failure.',
  summary: 'What is promised about repeated records.',
  inRows: { description: 'What is promised about repeated records.', nullable: false },
  schema: deliverySchema,
  examples: ['at_least_once', 'exactly_once'],
  plannedFor: 'members',
  conclude: planDelivery,
  checkEveryRow: checkDelivery,
  planRow: (_given, row) => planMembers(row),
  explainRow: explainDelivery,
});
