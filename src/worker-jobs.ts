/**
 * What a worker does. The server starts these (`runs/worker/worker-pool.ts`), and says how
 * many threads each may use, whether it is for runs, and what documents may take from it.
 */
import { discoverJob } from './features/discovery/discover-job.ts';
import { doctorJob } from './features/doctor/doctor-job.ts';
import { replayJob } from './features/dlq/replay-job.ts';
import { purgeJob } from './features/dlq/purge-job.ts';
import { inspectJob } from './features/dlq/inspect-job.ts';
import { previewJob } from './features/local-outputs/preview-job.ts';
import {
  checkTemplateJob,
  composeTemplateJob,
  templateMatrixJob,
} from './features/templates/template-jobs.ts';
import { dryRunJob, sampleJob } from './mcp/document-jobs.ts';
import { planJob } from './features/plan-view/plan-job.ts';
import { receiptFilesJob } from './features/receipt/files-job.ts';
import { rollbackJob } from './features/rollback/rollback-job.ts';
import { runJob } from './features/run-job.ts';
import { scheduleJob } from './features/schedule/server/schedule-job.ts';
import { stagePreviewJob } from './features/stage-preview/stage-preview-job.ts';
import { verifyJob } from './features/verify/verify-job.ts';
import { OPEN_ACCESS, type Access } from './lib/access.ts';
import { partsWith } from './parts.ts';
import { prepareJob } from './runs/planning/prepare-job.ts';
import { runWorkerLoop } from './runs/worker/worker-loop.ts';

const [, , threads = '0', use, given] = process.argv;

export async function startWorker(): Promise<void> {
  // Loaded before the first run comes: it would have to wait for it.
  if (use === 'runs') await import('./engine/execute.ts');
  const access = given === undefined ? OPEN_ACCESS : (JSON.parse(given) as Access);
  const parts = await partsWith(access.connectors ?? [], process.cwd());
  runWorkerLoop({
    jobs: [
      runJob,
      prepareJob,
      planJob,
      scheduleJob,
      doctorJob,
      verifyJob,
      replayJob,
      rollbackJob,
      previewJob,
      receiptFilesJob,
      inspectJob,
      purgeJob,
      checkTemplateJob,
      composeTemplateJob,
      templateMatrixJob,
      sampleJob,
      stagePreviewJob,
      discoverJob,
      dryRunJob,
    ],
    parts,
    threads: Number(threads),
    access,
  });
}
