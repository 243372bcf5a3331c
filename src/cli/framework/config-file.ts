import { existsSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../lib/errors.ts';
import type { CliContext } from './context.ts';
import { DOCUMENT_NAMES as NAMES } from './offers.ts';

/** The document to work on: the one named, or the one lying here. */
export function configFile(context: CliContext, named: string | undefined): string {
  const file = named ?? discover(context);
  context.setDocument(file);
  return path.resolve(context.world.cwd, file);
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
