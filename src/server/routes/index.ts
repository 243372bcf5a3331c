/** Every route of the server, in the order of the API description. */
import type { Route } from '../route.ts';
import { auditRoutes } from './audit.ts';
import { backfillRoutes } from './backfill.ts';
import { catalogRoutes } from './catalog.ts';
import { clusterRoutes } from './cluster.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { descriptionRoutes } from './description.ts';
import { discoveryRoutes } from './discovery.ts';
import { doctorRoutes } from './doctor.ts';
import { frontPageRoutes } from './front-page.ts';
import { healthRoutes } from './health.ts';
import { identityRoutes } from './identity.ts';
import { mcpRoutes } from './mcp.ts';
import { receiptRoutes } from './receipt.ts';
import { reloadRoutes } from './reload.ts';
import { rerunRoutes } from './rerun.ts';
import { rollbackRoutes } from './rollback.ts';
import { localOutputRoutes } from './local-outputs.ts';
import { runLogRoutes } from './run-logs.ts';
import { runRoutes } from './runs.ts';
import { scheduleRoutes } from './schedules.ts';
import { schemaRoutes } from './schemas.ts';
import { stagePreviewRoutes } from './stage-preview.ts';
import { templateRoutes } from './templates.ts';
import { triggerRoutes } from './triggers.ts';
import { verifyRoutes } from './verify.ts';

export const ROUTES: readonly Route[] = Object.freeze([
  ...runRoutes,
  ...rerunRoutes,
  ...receiptRoutes,
  ...rollbackRoutes,
  ...runLogRoutes,
  ...backfillRoutes,
  ...scheduleRoutes,
  ...schemaRoutes,
  ...doctorRoutes,
  ...stagePreviewRoutes,
  ...discoveryRoutes,
  ...verifyRoutes,
  ...deadLetterRoutes,
  ...catalogRoutes,
  ...localOutputRoutes,
  ...templateRoutes,
  ...triggerRoutes,
  ...identityRoutes,
  ...auditRoutes,
  ...mcpRoutes,
  ...reloadRoutes,
  ...frontPageRoutes,
  ...healthRoutes,
  ...clusterRoutes,
  ...descriptionRoutes(() => ROUTES),
]);
