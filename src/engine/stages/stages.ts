import type { Governance } from './governance.ts';
import { createContractStage } from './contract.ts';
import { createMaskingStage } from './masking.ts';
import { createQualityStage } from './quality.ts';
import { createSchemaDriftStage, type DriftDestination } from './schema-drift.ts';
import type { Stage, StageContext } from './stage.ts';

const NO_DESTINATION: DriftDestination = { schema: undefined, supplied: new Map() };

/**
 * The governance stages of a row in the order of the specification: masking first, so that nothing
 * after it sees raw values.
 */
export function stagesOf(
  context: StageContext,
  governance: Governance,
  destination: DriftDestination = NO_DESTINATION,
): readonly Stage[] {
  const { masking, quality, contract, schema } = governance;
  return [
    ...(masking === undefined ? [] : [createMaskingStage(masking, context)]),
    ...(quality === undefined ? [] : [createQualityStage(quality, context)]),
    ...(contract === undefined ? [] : [createContractStage(contract, context)]),
    ...(schema === undefined ? [] : [createSchemaDriftStage(schema, context, destination)]),
  ];
}
