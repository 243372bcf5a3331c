/** A server of the Model Context Protocol for one caller. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { check } from '../kit/schema.ts';
import { adviceOf, AppError, ConfigError, formatIssue } from '../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../lib/text/json.ts';
import { suggestion } from '../lib/text/nearest.ts';
import { ToolFailure, type McpTool, type ToolContext, type ToolPermission } from './define-tool.ts';
import { TOOLS } from './tools/index.ts';

export interface McpCaller {
  readonly may: (permission: ToolPermission) => boolean;
  readonly allowsMutations: boolean;
  readonly context: Omit<ToolContext, 'signal'>;
}

/** Tools that the caller may not use are neither listed nor found. */
export function createMcpServer(version: string, caller: McpCaller): McpServer {
  const mcp = new McpServer(
    { name: 'headgate', version },
    { capabilities: { tools: {}, resources: {} } },
  );
  const tools = TOOLS.filter(
    (tool) => caller.may(tool.needs) && (tool.mutates !== true || caller.allowsMutations),
  );
  mcp.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(listed) }));
  mcp.server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    answerOf(tools, params, { ...caller.context, signal }),
  );
  mcp.server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [] }));
  mcp.server.setRequestHandler(ReadResourceRequestSchema, () => {
    throw new McpError(ErrorCode.InvalidParams, 'there are no resources');
  });
  return mcp;
}

function listed({ name, description, input }: McpTool): Tool {
  const shape = z.toJSONSchema(input, { target: 'draft-7', io: 'input' });
  return { name, description, inputSchema: shape as Tool['inputSchema'] };
}

interface ToolAnswer {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError: boolean;
}

interface ToolCall {
  readonly name: string;
  readonly arguments?: Record<string, unknown> | undefined;
}

async function answerOf(
  tools: readonly McpTool[],
  call: ToolCall,
  context: ToolContext,
): Promise<ToolAnswer> {
  const say = (answer: object | string, isError: boolean): ToolAnswer => {
    const text = typeof answer === 'string' ? answer : stringifyJson(answer as JsonObject, 2);
    return { content: [{ type: 'text', text: context.env.redactor.text(text) }], isError };
  };
  try {
    const { tool, input } = readCall(tools, call);
    return say(await tool.call(input, context), false);
  } catch (error) {
    if (error instanceof ToolFailure) return say(error.answer, true);
    if (error instanceof ConfigError) return say({ valid: false, issues: error.issues }, true);
    return say(adviceOf(error), true);
  }
}

/** Throws `AppError` that says what to write instead. */
function readCall(
  tools: readonly McpTool[],
  call: ToolCall,
): { readonly tool: McpTool; readonly input: Record<string, unknown> } {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    const names = tools.map(({ name }) => name);
    const hint = suggestion(call.name, names, 'there are') ?? 'see `tools/list`';
    throw new AppError('missing', `there is no tool \`${call.name}\``, { hint });
  }
  const checked = check(tool.input, call.arguments ?? {});
  if (checked.ok) return { tool, input: checked.value };
  const faults = checked.issues.map(formatIssue).join('; ');
  throw new AppError('bad_option', `the arguments of \`${tool.name}\` are wrong: ${faults}`);
}
