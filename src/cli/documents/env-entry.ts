/** Writes a variable into `.env`, where commands find it and documents only name it. */
import { existsSync, readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { AppError } from '../../lib/errors.ts';

export const ENV_FILE = '.env';

/** Throws when one of them has another value there. Says whether there is anything to write. */
export function checkEnvEntries(cwd: string, entries: Readonly<Record<string, string>>): boolean {
  const known = existsSync(path.join(cwd, ENV_FILE))
    ? parseEnv(readFileSync(path.join(cwd, ENV_FILE), 'utf8'))
    : {};
  for (const [name, value] of Object.entries(entries))
    if (known[name] !== undefined && known[name] !== value)
      throw new AppError(
        'file_exists',
        `${ENV_FILE} has another value of ${name}, which is left alone`,
        {
          hint: `rename that variable, in ${ENV_FILE} and in the document that uses it`,
        },
      );
  return Object.keys(entries).some((name) => known[name] === undefined);
}

/** Only the owner may read a file that is made here. */
export async function addEnvEntries(
  cwd: string,
  entries: Readonly<Record<string, string>>,
): Promise<void> {
  const file = path.join(cwd, ENV_FILE);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const known = parseEnv(before);
  const lines = Object.entries(entries)
    .filter(([name]) => known[name] === undefined)
    .map(([name, value]) => `${name}='${value.replaceAll("'", '%27')}'\n`);
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  await appendFile(file, gap + lines.join(''), { mode: 0o600 });
}
