/** Moves the pages of an open invocation, then finishes what was written. */
import { messageOf } from '../../lib/errors.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { saveBookmark } from '../delivery/checkpoint.ts';
import {
  finishInterruptedRollback,
  openRollbackLog,
  type RollbackLog,
} from '../rollback/rollback-log.ts';
import { finishFailed, finishOutput } from './finish.ts';
import type { Invocation, OpenedInvocation } from './invocation.ts';
import { movePages, type SourcePosition } from './move-pages.ts';
import { startPosition, takeScope, type Start } from './start-position.ts';
import type { Tally } from './tally.ts';

export interface MoveHooks {
  onPage?(tally: Tally): void;
  /** Takes the files that the sink has opened since the last page. */
  onFiles?(files: readonly WrittenFile[]): void;
  /** Asked where to continue when other invocations read from the same source. */
  agree?(own: Start): Promise<Start>;
}

/** Returns the bookmark that is stored at the end. */
export async function moveInvocation(
  opened: OpenedInvocation,
  hooks: MoveHooks = {},
): Promise<JsonValue | undefined> {
  opened.hitFailpoint?.('opened');
  await takeScope(opened);
  if (opened.storesPositions) await finishInterruptedRollback(opened);
  const own = await startPosition(opened);
  const { bookmark, watermark } = (await hooks.agree?.(own)) ?? own;
  opened.start.bookmark = bookmark;
  const invocation: Invocation = { ...opened, watermark };
  const rollbackLog = opened.storesPositions ? await openRollbackLog(invocation) : undefined;
  try {
    const { waiting, stored } = await moveAndFinish(invocation, { bookmark, rollbackLog }, hooks);
    const isSaved =
      waiting !== undefined &&
      !invocation.stop.aborted &&
      (await saveBookmark(invocation, waiting));
    return isSaved ? waiting : stored;
  } finally {
    await rollbackLog?.end();
  }
}

interface StartedFrom {
  readonly bookmark: JsonValue | undefined;
  readonly rollbackLog: RollbackLog | undefined;
}

async function moveAndFinish(
  invocation: Invocation,
  { bookmark, rollbackLog }: StartedFrom,
  hooks: MoveHooks,
): Promise<SourcePosition> {
  const reportFiles = fileReporter(invocation, hooks);
  try {
    const position = await movePages(invocation, bookmark, () => {
      hooks.onPage?.(invocation.tally);
      reportFiles();
    });
    await finishOutput(invocation, { fromBeginning: bookmark === undefined, rollbackLog });
    return position;
  } catch (error) {
    await finishFailed(invocation, messageOf(error));
    throw error;
  }
}

function fileReporter({ sink }: Invocation, hooks: MoveHooks): () => void {
  let reported = 0;
  return () => {
    const files = sink.outputs?.() ?? [];
    if (files.length > reported) hooks.onFiles?.(files.slice(reported));
    reported = files.length;
  };
}
