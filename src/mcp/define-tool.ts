/** A tool that agents call over the Model Context Protocol: declared once, listed in `tools/index.ts`. */
import type { z, ZodObject } from 'zod';
import type { Parts } from '../kit/parts.ts';
import type { Env } from '../lib/env.ts';
import type { Jobs } from '../runs/service/jobs.ts';
import type { BaseDocument } from '../runs/service/prepared.ts';
import type { RunTemplate } from '../wire/templates.ts';
import type { BlockListing } from '../features/part-schemas.ts';
import type { Templates } from '../features/templates/templates.ts';

/** What a caller needs for a tool, in the words of the permissions of the API. */
export type ToolPermission =
  | 'schema_read'
  | 'doctor'
  | 'run_write'
  | 'template_read'
  | 'template_admin';

/** How a run ended, in the numbers that agents are told. */
export interface RanRows {
  /** The run as the server lists it; absent where nothing records runs. */
  readonly run_id?: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly invocations: number;
  readonly ok: number;
  readonly failed: number;
  readonly records_written: number;
  readonly error?: string;
}

/** Whom a tool works for: one caller of a server, or whoever started `headgate mcp`. */
export interface ToolContext {
  readonly env: Pick<Env, 'redactor' | 'ids' | 'clock'>;
  readonly parts: Parts;
  readonly blocks: readonly BlockListing[];
  readonly jobs: Jobs;
  /** What documents are laid over. */
  readonly base: BaseDocument | undefined;
  /** As this caller. */
  readonly templates: CallerTemplates;
  /** Runs a document of YAML text as this caller, and waits for its end. */
  run(config: string, signal: AbortSignal): Promise<RanRows>;
  runTemplate(id: string, how: RunTemplate, signal: AbortSignal): Promise<RanRows>;
  readonly signal: AbortSignal;
}

/** The registry for one caller. */
export interface CallerTemplates extends Pick<Templates, 'list' | 'get' | 'choose'> {
  register(request: Parameters<Templates['register']>[0], signal: AbortSignal): Promise<object>;
  launch(id: string, version: string | number | undefined): Promise<object>;
  rollBack(id: string): Promise<object>;
  deprecate(id: string, request: Parameters<Templates['deprecate']>[1]): Promise<object>;
}

export interface McpTool<S extends ZodObject = ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: S;
  readonly needs: ToolPermission;
  /** Only where the server was started with `--mcp-allow-mutations`. */
  readonly mutates?: true;
  /** Its answer is shown as JSON, and a text as it is. What it throws is told to the agent. */
  readonly call: (input: z.infer<S>, context: ToolContext) => Promise<object | string>;
}

/** Says that what was asked for was done, and failed. */
export class ToolFailure extends Error {
  readonly answer: object;

  constructor(answer: object) {
    super('the tool failed');
    this.answer = answer;
  }
}

export function defineTool<S extends ZodObject>(tool: McpTool<S>): McpTool {
  // The list does not know the inputs: each tool is given only what its own schema parsed.
  return Object.freeze(tool) as unknown as McpTool;
}
