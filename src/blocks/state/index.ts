import { defineBlock } from '../define-block.ts';
import { explainState } from './explain.ts';
import { checkState, warnAboutUnusedStates } from './rules.ts';
import { stateSchema, type StateSpec } from './schema.ts';

export const stateBlock = defineBlock<StateSpec>({
  name: 'state',
  placement: 'pipeline',
  description:
    'Where bookmarks are kept between runs, so that a run continues where the last one stopped.',
  summary: 'Where bookmarks are kept between runs.',
  inRows: {
    description: 'Replaces the state store of the pipeline; null means none.',
    nullable: true,
  },
  schema: stateSchema,
  examples: [{ type: 'file', config: { path: '.state' } }],
  plannedFor: 'members',
  assemble: (given, { assembleState }) => ({ state: assembleState(given) }),
  checkEveryRow: (_given, row, place) => checkState(row, place),
  checkRows: warnAboutUnusedStates,
  planRow: (_given, { state }) => ({ state: state?.plan }),
  explainRow: explainState,
});
