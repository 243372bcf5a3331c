/** The registry of templates that a command works on. */
import { dirname, resolve } from 'node:path';
import type { Templates } from '../../features/templates/templates.ts';
import { RefusedError } from '../../lib/errors.ts';
import { VARIABLES } from '../../lib/variables.ts';
import type { Caller } from '../../runs/service/runs.ts';
import type { CliContext } from '../framework/context.ts';
import { usageError } from '../framework/exit.ts';
import { switchOption, textOption, type Values } from '../framework/option.ts';
import { SERVER_OPTION, withServer } from '../remote/connect.ts';
import type { RegistryVerbs } from '../remote/remote-templates.ts';

const STORE = 'sqlite:.headgate/history.db';

export const STORE_OPTIONS = {
  store: textOption({
    value: 'WHERE',
    env: VARIABLES.templateStore,
    description: `The history of the server that has the templates: \`sqlite:PATH\` (default: \`${STORE}\`).`,
  }),
  ...SERVER_OPTION,
  json: switchOption({ description: 'Print JSON.' }),
};
export type StoreValues = Values<typeof STORE_OPTIONS>;

/** Whoever can write the store may do everything. */
export const CLI_CALLER: Caller = { principal: 'cli', role: 'admin' };

export const ID_ARGUMENT = { name: 'id', description: 'Id of the template.' } as const;

export const VERSION_OPTION = (description: string) =>
  textOption({ value: 'VERSION', description });

/** Calls `use` with the registry of the server, where one is named, or of the store. */
export async function withRegistry<R>(
  context: CliContext,
  { store, server }: Pick<StoreValues, 'store' | 'server'>,
  use: (templates: RegistryVerbs, signal: AbortSignal) => Promise<R>,
): Promise<R> {
  if (server === undefined) return withTemplates(context, { store }, use);
  if (store !== undefined)
    throw usageError('--store and --server name two registries', 'give only one of the two');
  const { remoteTemplates } = await import('../remote/remote-templates.ts');
  const { signal } = new AbortController();
  return withServer(context, { server }, (client) => use(remoteTemplates(client), signal));
}

/** Opens the registry of a store, calls `use`, and closes it. */
export async function withTemplates<R>(
  context: CliContext,
  { store = STORE }: Pick<StoreValues, 'store'>,
  use: (templates: Templates, signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const { env, wiring, world } = context;
  const [{ openHistory }, { createTemplates }, { createAudit }, { localJobs }, parts] =
    await Promise.all([
      import('../../history/open.ts'),
      import('../../features/templates/templates.ts'),
      import('../../runs/service/audit.ts'),
      import('./local-jobs.ts'),
      wiring.parts(),
    ]);
  const file = /^sqlite:(?:\/\/)?(.+)$/.exec(store)?.[1];
  if (file !== undefined) {
    const { makeFolder } = await import('../../lib/files/make-folder.ts');
    await makeFolder(dirname(resolve(world.cwd, file)));
  }
  const history = await openHistory(store, env);
  try {
    const templates = createTemplates({
      env,
      store: history.templates,
      jobs: localJobs(env, parts),
      runs: { submit: () => Promise.reject(new RefusedError('unavailable', 'there is no server')) },
      audit: createAudit(history, env),
    });
    return await use(templates, new AbortController().signal);
  } finally {
    await history.close();
  }
}
