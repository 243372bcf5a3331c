import type { RanRows, ToolContext } from '../../mcp/define-tool.ts';
import { STORE_OPTIONS, CLI_CALLER, withTemplates } from '../documents/template-store.ts';
import type { CliContext } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';

export const mcpCommand = defineCommand({
  name: 'mcp',
  summary: 'Serve tools to an agent on this machine (Model Context Protocol over stdio).',
  description:
    'For the settings of an agent, which starts this command and speaks with it. Documents run in this process, with its rights, and nothing of the runs is recorded. A server offers the same tools at `/mcp` with `headgate serve --mcp`.',
  options: {
    allowMutations: switchOption({
      description: 'Also offer the tools that run documents and change the registry of templates.',
    }),
    templateStore: STORE_OPTIONS.store,
  },
  examples: [
    { command: 'headgate mcp', description: 'Look, check and preview' },
    { command: 'headgate mcp --allow-mutations', description: 'Run documents, too' },
  ],
  async run(context, { options }) {
    const store = options.templateStore;
    const [{ createMcpServer }, { StdioServerTransport }] = await Promise.all([
      import('../../mcp/mcp-server.ts'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
    ]);
    return withTemplates(context, { store }, async (templates) => {
      const { templatesFor } = await import('../../mcp/mcp-endpoint.ts');
      const server = createMcpServer(context.wiring.version, {
        may: () => true,
        allowsMutations: options.allowMutations,
        context: await contextOf(context, templatesFor(CLI_CALLER, templates)),
      });
      const ended = Promise.withResolvers<void>();
      // The library takes one listener, and no events.
      // oxlint-disable-next-line unicorn/prefer-add-event-listener
      server.server.onclose = () => ended.resolve();
      const forget = context.world.onSignal(() => void server.close());
      // The transport does not notice that the agent is gone.
      process.stdin.once('end', () => void server.close());
      await server.connect(new StdioServerTransport());
      await ended.promise;
      forget();
      return EXIT.ok;
    });
  },
});

async function contextOf(
  { env, wiring }: CliContext,
  templates: ToolContext['templates'],
): Promise<Omit<ToolContext, 'signal'>> {
  const [{ localJobs }, { DESCRIBED_BLOCKS }, { runJob }, { rowsOf }, parts] = await Promise.all([
    import('../documents/local-jobs.ts'),
    import('../../blocks/index.ts'),
    import('../../features/run-job.ts'),
    import('../../mcp/document-jobs.ts'),
    wiring.parts(),
  ]);
  const jobs = localJobs(env, parts);
  type Submitted = Parameters<typeof runJob.execute>[0]['document'];
  const run = async (document: Submitted, signal: AbortSignal): Promise<RanRows> => {
    const request = {
      kind: 'run' as const,
      run_id: env.ids.next(),
      document,
      clock: env.clock.now().toISOString(),
      concurrency: null,
      reads_anew: false,
    };
    return rowsOf(await jobs.run(runJob, request, { signal }));
  };
  const format = { config_format: 'yaml' as const, name: null, base: null };
  return {
    env,
    parts,
    blocks: DESCRIBED_BLOCKS,
    jobs,
    base: undefined,
    templates,
    run: (config, signal) => run({ config, ...format }, signal),
    runTemplate: async (id, how, signal) => {
      const { config, config_format, main } = await templates.choose(id, how, signal);
      const bound = { params: (how.params ?? {}) as never, env: how.env ?? {} };
      const rows = await run({ config, ...format, config_format, bound }, signal);
      const params = how.params ?? {};
      return { template_id: id, template_version: main.version.version, params, ...rows };
    },
  };
}
