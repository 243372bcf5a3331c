import type { Command } from '../framework/command.ts';
import { backfillCommand } from './backfill.ts';
import { catalogDatasetsCommand } from './catalog-datasets.ts';
import { catalogLineageCommand } from './catalog-lineage.ts';
import { catalogShowCommand } from './catalog-show.ts';
import { completionsCommand } from './completions.ts';
import { conformanceCommand } from './conformance.ts';
import { contractCommand } from './contract.ts';
import { demoCommand } from './demo.ts';
import { deployCommand } from './deploy.ts';
import { devCommand } from './dev.ts';
import { discoverCommand } from './discover.ts';
import { dlqDiscardCommand } from './dlq-discard.ts';
import { dlqInspectCommand } from './dlq-inspect.ts';
import { dlqReplayCommand } from './dlq-replay.ts';
import { doctorCommand } from './doctor.ts';
import { explainCommand } from './explain.ts';
import { fixCommand } from './fix.ts';
import { fmtCommand } from './fmt.ts';
import { historyCommand } from './history.ts';
import { importCommand } from './import.ts';
import { initCommand } from './init.ts';
import { lintCommand } from './lint.ts';
import { listCommand } from './list.ts';
import { maskingCommand } from './masking.ts';
import { lspCommand } from './lsp.ts';
import { mcpCommand } from './mcp.ts';
import { newConnectorCommand } from './new-connector.ts';
import { notifyTestCommand } from './notify-test.ts';
import { planCommand } from './plan.ts';
import { previewCommand } from './preview.ts';
import { rollbackCommand } from './rollback.ts';
import { cancelCommand } from './cancel.ts';
import { logsCommand } from './logs.ts';
import { pushCommand } from './push.ts';
import { replicateCommand } from './replicate.ts';
import { rerunCommand } from './rerun.ts';
import { runsCommand } from './runs.ts';
import { stateListCommand } from './state-list.ts';
import { stateResetCommand } from './state-reset.ts';
import { stateShowCommand } from './state-show.ts';
import { submitCommand } from './submit.ts';
import { runCommand } from './run.ts';
import { scheduleCommand } from './schedule.ts';
import { schedulesCommand } from './schedules.ts';
import { clusterStatusCommand } from './cluster-status.ts';
import { schemaCommand } from './schema.ts';
import { serveCommand } from './serve.ts';
import { templateDeleteCommand } from './template-delete.ts';
import { templateDeprecateCommand } from './template-deprecate.ts';
import { templateLaunchCommand } from './template-launch.ts';
import { templateListCommand } from './template-list.ts';
import { templatePromoteCommand } from './template-promote.ts';
import { templateRegisterCommand } from './template-register.ts';
import { templateRollbackCommand } from './template-rollback.ts';
import { templateRunCommand } from './template-run.ts';
import { templateShowCommand } from './template-show.ts';
import { testCommand } from './test.ts';
import { triggersCheckCommand } from './triggers-check.ts';
import { validateCommand } from './validate.ts';
import { verifyCommand } from './verify.ts';

/** Every command, in the order in which help lists them. */
export const COMMANDS: readonly Command[] = [
  initCommand,
  importCommand,
  discoverCommand,
  validateCommand,
  lintCommand,
  explainCommand,
  planCommand,
  previewCommand,
  devCommand,
  testCommand,
  contractCommand,
  maskingCommand,
  doctorCommand,
  runCommand,
  fixCommand,
  verifyCommand,
  rollbackCommand,
  stateListCommand,
  stateShowCommand,
  stateResetCommand,
  dlqInspectCommand,
  dlqReplayCommand,
  dlqDiscardCommand,
  scheduleCommand,
  backfillCommand,
  replicateCommand,
  notifyTestCommand,
  triggersCheckCommand,
  pushCommand,
  deployCommand,
  templateRegisterCommand,
  templateListCommand,
  templateShowCommand,
  templateLaunchCommand,
  templateRollbackCommand,
  templatePromoteCommand,
  templateDeprecateCommand,
  templateDeleteCommand,
  templateRunCommand,
  catalogDatasetsCommand,
  catalogShowCommand,
  catalogLineageCommand,
  historyCommand,
  serveCommand,
  submitCommand,
  runsCommand,
  logsCommand,
  cancelCommand,
  rerunCommand,
  lspCommand,
  mcpCommand,
  schedulesCommand,
  clusterStatusCommand,
  demoCommand,
  fmtCommand,
  listCommand,
  schemaCommand,
  newConnectorCommand,
  conformanceCommand,
  completionsCommand(() => COMMANDS),
];
