import { isKeyed } from '../../kit/write-spec.ts';
import type { IssueList } from '../issue-list.ts';
import type { AssembledRow } from '../assembled-row.ts';
import { placeInConfig } from '../resolve-part.ts';
import { unsupportedMode } from '../unsupported-mode.ts';

/** The sink must offer the mode its config asks for, and keyed modes need a key (spec 2.10). */
export function checkWriteMode({ writes, sink, resolved }: AssembledRow, issues: IssueList): void {
  if (writes === undefined || resolved.sink === undefined) return;
  const { writeMode, writeModes, key } = writes;
  if (writeModes.includes(writeMode) && (!isKeyed(writeMode) || key.length > 0)) return;
  const path = placeInConfig(resolved.sink, 'write_mode');
  if (!writeModes.includes(writeMode)) {
    const asked = { type: sink.plan.type, mode: writeMode, possible: writeModes };
    issues.add(unsupportedMode(path, asked));
  } else {
    issues.error(
      'missing_key',
      path,
      `\`write_mode: ${writeMode}\` needs \`key\``,
      'list the columns that identify a row, e.g. `key: [id]`',
    );
  }
}
