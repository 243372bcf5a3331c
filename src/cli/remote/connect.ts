/** The server that a command speaks with. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { HeadgateClient } from '../../client/index.ts';
import { AppError, ConfigError, type Issue } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { findVariable, VARIABLES } from '../../lib/variables.ts';
import type { CliContext } from '../framework/context.ts';
import { usageError } from '../framework/exit.ts';
import { switchOption, textOption, type Values } from '../framework/option.ts';
import { readProfiles, type FoundProfiles, type ServerProfile } from './server-profiles.ts';

export const SERVER_OPTION = {
  server: textOption({
    value: 'URL',
    env: VARIABLES.server,
    description:
      'Address of the server, or its name in `~/.config/headgate/servers.yaml`; the `default` of that file when absent. The token comes from `HEADGATE_TOKEN` or from that file.',
  }),
};

export const REMOTE_OPTIONS = {
  ...SERVER_OPTION,
  json: switchOption({ description: 'Print JSON.' }),
};
export type ServerValues = Values<typeof SERVER_OPTION>;

/** Calls `use` with a client; what a server refuses is thrown as an `AppError`. */
export async function withServer<R>(
  context: CliContext,
  options: ServerValues,
  use: (client: HeadgateClient) => Promise<R>,
): Promise<R> {
  const { HeadgateClient, HeadgateError } = await import('../../client/index.ts');
  const { server, token } = addressed(context, options);
  if (token !== undefined) context.env.redactor.register(token);
  try {
    return await use(new HeadgateClient({ server, token, fetch: context.world.fetch }));
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    const { code, message, hint, details } = error;
    const issues = issuesOf(details);
    if (issues.length > 0) throw new ConfigError(issues, { cause: error.cause });
    throw new AppError(code, message, hint === undefined ? {} : { hint });
  }
}

/** Problems of a submitted document, to be shown like those of a document that runs here. */
function issuesOf(details: unknown): readonly Issue[] {
  const { issues } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly issues?: unknown;
  };
  return Array.isArray(issues) ? (issues as readonly Issue[]) : [];
}

interface Addressed {
  readonly server: string;
  readonly token: string | undefined;
}

function addressed(context: CliContext, { server }: ServerValues): Addressed {
  const { variables, cwd } = context.world;
  const given = findVariable(VARIABLES.token, variables)?.text || undefined;
  if (server?.includes('://') === true) return { server, token: given };
  const profiles = readProfiles(variables);
  const profile = profileOf(profiles, server);
  if (profiles.isOpenToOthers)
    context.terminal.warn(`${profiles.path} holds a token and others can read it: chmod 600`);
  return { server: profile.url, token: given ?? tokenOf(profile, { variables, cwd }) };
}

function profileOf({ path: file, file: found }: FoundProfiles, name?: string): ServerProfile {
  const wanted = name ?? found?.default;
  if (wanted === undefined) {
    throw usageError(
      'say which server',
      `with --server URL, HEADGATE_SERVER, or a \`default\` in ${file}`,
    );
  }
  const profile =
    found !== undefined && Object.hasOwn(found.servers, wanted) ? found.servers[wanted] : undefined;
  if (profile !== undefined) return profile;
  const names = Object.keys(found?.servers ?? {});
  throw usageError(
    `\`${wanted}\` is neither an address nor a name in ${file}`,
    names.length === 0
      ? 'an address begins with http:// or https://'
      : `names there: ${names.join(', ')}`,
  );
}

function tokenOf(
  { token, token_env: variable, token_file: file }: ServerProfile,
  { variables, cwd }: Pick<CliContext['world'], 'variables' | 'cwd'>,
): string | undefined {
  if (variable !== undefined) {
    const found = variables[variable];
    if (found === undefined || found === '')
      throw usageError(`the variable ${variable}, which should hold the token, is not set`);
    return found;
  }
  if (file === undefined) return token;
  try {
    return readFileSync(path.resolve(cwd, file), 'utf8').trim();
  } catch (error) {
    throw usageError(`the file of the token cannot be read: ${fileFault(error).says}`);
  }
}
