import type { Governance } from '../../plan/plan.ts';
import { createContractStage } from './contract.ts';
import { createMaskingStage } from './masking.ts';
import { createQualityStage } from './quality.ts';
import type { Stage, StageContext } from './stage.ts';

/** The governance stages of a row in the order of the specification: masking first, so that nothing after it sees raw values. */
export function stagesOf(context: StageContext, governance: Governance): readonly Stage[] {
  const { masking, quality, contract } = governance;
  return [
    ...(masking === undefined ? [] : [createMaskingStage(masking, context)]),
    ...(quality === undefined ? [] : [createQualityStage(quality, context)]),
    ...(contract === undefined ? [] : [createContractStage(contract, context)]),
  ];
}
