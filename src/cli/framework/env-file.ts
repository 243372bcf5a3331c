import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { AppError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { usageError } from './exit.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

export interface EnvFileOptions {
  readonly envFile: string | undefined;
  readonly noEnvFile: boolean;
}

/**
 * The variables with those of the env file beneath them. An explicit file must exist; `.env` is
 * used when it is there.
 */
export function loadVariables(
  options: EnvFileOptions,
  cwd: string,
  variables: Variables,
): Variables {
  if (options.noEnvFile && options.envFile !== undefined)
    throw usageError('`--env-file` and `--no-env-file` exclude each other');
  if (options.noEnvFile) return variables;
  const file = path.resolve(cwd, options.envFile ?? '.env');
  if (options.envFile === undefined && !existsSync(file)) return variables;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new AppError(
      'env_file',
      `the env file ${options.envFile ?? file} cannot be read: ${fileFault(error).says}`,
      {
        hint: 'check the path given with `--env-file`, or use `--no-env-file`',
      },
    );
  }
  return { ...parseEnv(text), ...variables };
}
