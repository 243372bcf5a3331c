import { governanceOf } from '../stages/governance.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { SinkCapabilities } from '../../kit/sink.ts';
import { fileAccess } from '../../lib/files/file-access.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolveConfig, type RuntimeTokens } from '../../plan/resolve.ts';
import { stagePlace } from '../stages/stage.ts';
import type { ThreadSetup } from './messages.ts';

export interface SetupOptions extends Pick<SinkCapabilities, 'encodings'> {
  readonly plan: Pick<Plan, 'name'>;
  readonly row: PlannedRow;
  readonly tokens: RuntimeTokens;
}

/** What a thread needs to know to work on pages of the row. */
export function setupOf({ plan, row, tokens, encodings }: SetupOptions): ThreadSetup {
  const { masking, quality, contract } = governanceOf(row);
  return {
    ...stagePlace(plan, row),
    transforms: row.transforms.map((part) => ({
      type: part.type,
      config: resolveConfig(part, tokens),
      path: part.path,
    })),
    governance: { masking, quality, contract },
    tracks: row.dlq !== undefined,
    asLines: encodings.includes(JSON_LINES.name),
    files: fileAccess(),
  };
}
