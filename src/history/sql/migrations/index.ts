import type { Migration } from './migration.ts';
import { controlPlane } from './0001-control-plane.ts';
import { catalog } from './0002-catalog.ts';
import { runsByStatus } from './0003-runs-by-status.ts';
import { outputs } from './0004-outputs.ts';
import { oneTree } from './0005-one-tree.ts';
import { ascending } from './0006-ascending.ts';
import { submissions } from './0007-submissions.ts';
import { templates } from './0008-templates.ts';
import { sharedTexts } from './0009-shared-texts.ts';
import { schedules } from './0010-schedules.ts';
import { triggers } from './0011-triggers.ts';
import { claimsInOneTree } from './0012-claims-in-one-tree.ts';
import { notCompletedByName } from './0013-not-completed-by-name.ts';
import { cluster } from './0014-cluster.ts';
import { shards } from './0015-shards.ts';
import { priority } from './0016-priority.ts';
import { unclaimedByPriority } from './0017-unclaimed-by-priority.ts';
import { queuedInTurn } from './0018-queued-in-turn.ts';

/** In order; a migration that was released is never changed, only followed by another. */
export const MIGRATIONS: readonly Migration[] = [
  controlPlane,
  catalog,
  runsByStatus,
  outputs,
  oneTree,
  ascending,
  submissions,
  templates,
  sharedTexts,
  schedules,
  triggers,
  claimsInOneTree,
  notCompletedByName,
  cluster,
  shards,
  priority,
  unclaimedByPriority,
  queuedInTurn,
];
