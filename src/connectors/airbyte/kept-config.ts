/** The config of a connector: that of the document, and what the connector asked to keep of it. */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { PartContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import { isObject, parseData, stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { unreadableJson } from '../../lib/text/unreadable-json.ts';
import { registerSecrets } from '../_programs/config-secrets.ts';
import { ownConfig, type ConnectorConfig } from './connector-config.ts';

export async function wholeConfig(
  config: ConnectorConfig,
  { env }: Pick<PartContext, 'env'>,
): Promise<JsonObject> {
  const { config_file: file } = config;
  const given = ownConfig(config);
  registerSecrets(given, env.redactor);
  if (file === undefined) return given;
  const path = permittedFile(resolve(env.cwd, file));
  if (!existsSync(path)) return given;
  try {
    const kept = parseData(await readFile(path, 'utf8'));
    if (!isObject(kept)) throw new Error('it holds no object');
    registerSecrets(kept, env.redactor);
    return { ...given, ...kept };
  } catch (error) {
    throw new ConnectorError('data', `\`config_file\` cannot be read: ${unreadableJson(error)}`, {
      cause: error,
      hint: 'remove the file, and log in anew',
    });
  }
}

/** Whole or not at all, and for this user only. */
export async function keepConfig(
  { config_file: file, command }: ConnectorConfig,
  config: JsonObject,
  { env }: Pick<PartContext, 'env'>,
): Promise<void> {
  registerSecrets(config, env.redactor);
  if (file === undefined) {
    env.log.warn('the connector asks to keep a new config, and there is no `config_file` for it', {
      program: command[0],
    });
    return;
  }
  const path = permittedFile(resolve(env.cwd, file));
  const part = `${path}.part`;
  await writeFile(part, stringifyJson(config), { mode: 0o600 });
  await rename(part, path);
}
