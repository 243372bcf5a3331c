/** The endpoint of a server for agents. Runs that they start are runs like all others. */
import type { JsonObject } from '../lib/text/json.ts';
import { actionOf, type Audit } from '../runs/service/audit.ts';
import type { RunEnds } from '../runs/service/run-ends.ts';
import type { Caller, Runs } from '../runs/service/runs.ts';
import type { Templates } from '../features/templates/templates.ts';
import type { CallerTemplates, RanRows, ToolContext, ToolPermission } from './define-tool.ts';
import { countedRows } from './document-jobs.ts';
import { readMessage } from './exchange.ts';

export interface McpEndpoint {
  /** Undefined: a notification, which has no answer. */
  answer(body: Uint8Array, call: McpCall): Promise<JsonObject | undefined>;
}

export interface McpCall {
  readonly caller: Caller;
  readonly may: (permission: ToolPermission) => boolean;
  readonly signal: AbortSignal;
}

export interface McpEndpointOptions extends Pick<ToolContext, 'env' | 'parts' | 'blocks' | 'jobs'> {
  readonly version: string;
  readonly base: () => ToolContext['base'];
  readonly runs: Pick<Runs, 'submit' | 'get'>;
  readonly ends: Pick<RunEnds, 'of'>;
  readonly templates: Templates;
  readonly audit: Pick<Audit, 'record'>;
  readonly allowsMutations: boolean;
}

export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { version, allowsMutations, audit } = options;
  return {
    answer: async (body, { caller, may, signal }) => {
      const read = readMessage(body);
      const about = read.type === 'message' ? `${read.method} ${read.tool ?? ''}` : 'no message';
      await audit.record({ ...actionOf(caller, 'mcp'), result: about.trimEnd() });
      if (read.type === 'no_message') return read.answer;
      if (read.id === undefined) return undefined;
      const [{ createMcpServer }, { exchange }] = await Promise.all([
        import('./mcp-server.ts'),
        import('./exchange.ts'),
      ]);
      const context = contextFor(caller, options);
      const server = createMcpServer(version, { may, allowsMutations, context });
      return exchange(server, read.message, signal);
    },
  };
}

function contextFor(
  caller: Caller,
  { env, parts, blocks, jobs, base, runs, ends, templates }: McpEndpointOptions,
): Omit<ToolContext, 'signal'> {
  const ended = async (runId: string, signal: AbortSignal): Promise<RanRows> => {
    const { status, error } = await ends.of(runId, { runs, clock: env.clock }, signal);
    const { invocations, records_written } = await runs.get(runId);
    return { run_id: runId, ...countedRows({ status, invocations, records_written, error }) };
  };
  return {
    env,
    parts,
    blocks,
    jobs,
    base: base(),
    templates: templatesFor(caller, templates),
    run: async (config, signal) => {
      const { run_id: runId } = await runs.submit({ config, config_format: 'yaml' }, caller);
      return ended(runId, signal);
    },
    runTemplate: async (id, how, signal) => {
      const { run_id, template_id, template_version, params } = await templates.run(
        id,
        how,
        caller,
        signal,
      );
      return { template_id, template_version, params, ...(await ended(run_id, signal)) };
    },
  };
}

export function templatesFor(caller: Caller, templates: Templates): CallerTemplates {
  return {
    list: (kind) => templates.list(kind),
    get: (id, version) => templates.get(id, version),
    choose: (id, request, signal) => templates.choose(id, request, signal),
    register: (request, signal) => templates.register(request, caller, signal),
    launch: (id, version) => templates.launch(id, version, caller),
    rollBack: (id) => templates.rollBack(id, caller),
    deprecate: (id, request) => templates.deprecate(id, request, caller),
  };
}
