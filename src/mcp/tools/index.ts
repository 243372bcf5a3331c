import type { McpTool } from '../define-tool.ts';
import { previewTool, runPipelineTool, validateConfigTool } from './documents.ts';
import { connectorSchemaTool, listConnectorsTool, scaffoldConfigTool } from './parts.ts';
import {
  deprecateTemplateTool,
  getTemplateTool,
  launchTemplateTool,
  listTemplatesTool,
  registerTemplateTool,
  rollbackTemplateTool,
  runTemplateTool,
} from './templates.ts';

/** Every tool, in the order in which agents see them. */
export const TOOLS: readonly McpTool[] = [
  listConnectorsTool,
  connectorSchemaTool,
  scaffoldConfigTool,
  validateConfigTool,
  previewTool,
  runPipelineTool,
  listTemplatesTool,
  getTemplateTool,
  registerTemplateTool,
  launchTemplateTool,
  rollbackTemplateTool,
  deprecateTemplateTool,
  runTemplateTool,
];
