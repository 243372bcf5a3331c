/** Servers by name, with their tokens: a file of the user, beside other configuration. */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { load } from 'js-yaml';
import { z } from 'zod';
import { AppError, messageOf } from '../../lib/errors.ts';
import type { Variables } from '../../lib/variables.ts';

const profileSchema = z
  .strictObject({
    url: z.string(),
    token: z.string().min(1).optional(),
    /** Name of the variable that holds the token. */
    token_env: z.string().min(1).optional(),
    token_file: z.string().min(1).optional(),
  })
  .refine((profile) => tokenKeys(profile).length <= 1, {
    message: 'takes one of token, token_env and token_file',
  });

const fileSchema = z
  .strictObject({
    default: z.string().optional(),
    servers: z.record(z.string(), profileSchema),
  })
  .refine(({ default: name, servers }) => name === undefined || Object.hasOwn(servers, name), {
    path: ['default'],
    message: 'names no server of the file',
  });

export type ServerProfile = z.infer<typeof profileSchema>;
type ProfileFile = z.infer<typeof fileSchema>;

export interface FoundProfiles {
  readonly path: string;
  /** Undefined: there is no such file. */
  readonly file: ProfileFile | undefined;
  /** It holds tokens, and other users of the machine can read it. */
  readonly isOpenToOthers: boolean;
}

export function profilePath(variables: Variables): string {
  const folder = variables['XDG_CONFIG_HOME'] || path.join(homedir(), '.config');
  return path.join(folder, 'headgate', 'servers.yaml');
}

/** Throws when the file cannot be used. */
export function readProfiles(variables: Variables): FoundProfiles {
  const file = profilePath(variables);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { path: file, file: undefined, isOpenToOthers: false };
    throw unusable(file, messageOf(error));
  }
  const parsed = fileSchema.safeParse(contentOf(file, text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw unusable(
      file,
      `${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}`,
    );
  }
  const holdsToken = Object.values(parsed.data.servers).some(({ token }) => token !== undefined);
  const isOpen = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
  return { path: file, file: parsed.data, isOpenToOthers: holdsToken && isOpen };
}

function contentOf(file: string, text: string): unknown {
  try {
    return load(text) ?? {};
  } catch (error) {
    throw unusable(file, messageOf(error).split('\n', 1)[0] ?? '');
  }
}

function unusable(file: string, why: string): AppError {
  return new AppError('bad_option', `${file} cannot be used: ${why}`, {
    hint: 'it holds `servers:` with a `url` and a `token_env`, `token_file` or `token` for each name',
  });
}

function tokenKeys(profile: Partial<Record<string, unknown>>): string[] {
  return ['token', 'token_env', 'token_file'].filter((key) => profile[key] !== undefined);
}
