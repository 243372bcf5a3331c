import { blockOf } from '../../blocks/define-block.ts';
import { contractBlock } from '../../blocks/contract/index.ts';
import type { ContractConfig } from '../../blocks/contract/schema.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import type { MaskingConfig } from '../../blocks/masking/schema.ts';
import { qualityBlock } from '../../blocks/quality/index.ts';
import type { QualityConfig } from '../../blocks/quality/schema.ts';
import { schemaDriftBlock } from '../../blocks/schema-drift/index.ts';
import type { SchemaDriftConfig } from '../../blocks/schema-drift/schema.ts';
import type { PlannedRow } from '../../plan/plan.ts';

/** The blocks of a row that are compiled to stages, between the transforms and the sink. */
export interface Governance {
  readonly quality: QualityConfig | undefined;
  readonly contract: ContractConfig | undefined;
  readonly masking: MaskingConfig | undefined;
  readonly schema: SchemaDriftConfig | undefined;
}

export function governanceOf(row: Pick<PlannedRow, 'blocks'>): Governance {
  return {
    quality: blockOf(row, qualityBlock),
    contract: blockOf(row, contractBlock),
    masking: blockOf(row, maskingBlock),
    schema: blockOf(row, schemaDriftBlock),
  };
}
