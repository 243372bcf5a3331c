/** A server of the Model Context Protocol for one caller. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  ErrorCode,
  ListResourcesRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { adviceOf, ConfigError } from '../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../lib/text/json.ts';
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
  for (const tool of TOOLS) {
    if (!caller.may(tool.needs) || (tool.mutates === true && !caller.allowsMutations)) continue;
    mcp.registerTool(
      tool.name,
      { description: tool.description, inputSchema: tool.input },
      async (input, { signal }) => answerOf(tool, input, { ...caller.context, signal }),
    );
  }
  mcp.server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [] }));
  mcp.server.setRequestHandler(ReadResourceRequestSchema, () => {
    throw new McpError(ErrorCode.InvalidParams, 'there are no resources');
  });
  return mcp;
}

interface ToolAnswer {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError: boolean;
}

async function answerOf(
  tool: McpTool,
  input: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolAnswer> {
  const say = (answer: object | string, isError: boolean): ToolAnswer => {
    const text = typeof answer === 'string' ? answer : stringifyJson(answer as JsonObject, 2);
    return { content: [{ type: 'text', text: context.env.redactor.text(text) }], isError };
  };
  try {
    return say(await tool.call(input, context), false);
  } catch (error) {
    if (error instanceof ToolFailure) return say(error.answer, true);
    if (error instanceof ConfigError) return say({ valid: false, issues: error.issues }, true);
    return say(adviceOf(error), true);
  }
}
