import { existsSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import type { CliContext } from './context.ts';
import { usageError } from './exit.ts';
import { DOCUMENT_NAMES as NAMES } from './offers.ts';

/** The document to work on: the one named, or the one lying here. */
export function configFile(context: CliContext, named: string | undefined): string {
  if (named !== undefined && /^[a-z][\w+.-]+:\/\//i.test(named)) throw addressGiven();
  const file = named ?? discover(context);
  context.setDocument(file);
  return path.resolve(context.world.cwd, file);
}

/** What stands in an address may be a password. */
function addressGiven(): AppError {
  return usageError(
    'a document is a file, not an address',
    '`headgate init --from ADDRESS` writes a document for what an address leads to',
  );
}

function discover({ world, terminal }: CliContext): string {
  const [first, ...others] = NAMES.filter((name) => existsSync(path.join(world.cwd, name)));
  if (first === undefined) {
    throw new AppError(
      'no_document',
      `no document was named and there is no ${NAMES.join(', ')} in ${world.cwd}`,
      {
        hint: 'name one, or start with `headgate init`',
      },
    );
  }
  if (others.length > 0)
    terminal.warn(
      `${first} is used; ${others.join(' and ')} beside it ${others.length === 1 ? 'is' : 'are'} not`,
    );
  return first;
}
