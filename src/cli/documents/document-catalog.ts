/** What the commands that read a catalog share. */
import { catalogBlock } from '../../blocks/catalog/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { Catalog } from '../../features/catalog/catalog.ts';
import { AppError } from '../../lib/errors.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from './document-options.ts';
import { usageError } from '../framework/exit.ts';
import { switchOption, textOption, type Values } from '../framework/option.ts';

export const CATALOG_OPTIONS = {
  config: textOption({
    value: 'FILE',
    completes: 'file',
    description: 'The document whose catalog is read; the one lying here when absent.',
  }),
  json: switchOption({ description: 'Print JSON.' }),
  ...DOCUMENT_OPTIONS,
};

/** For commands that also take the document as an argument. */
export function whichDocument<T extends { readonly config: string | undefined }>(
  argument: string | undefined,
  options: T,
): T {
  if (argument !== undefined && options.config !== undefined)
    throw usageError('the document is named twice', 'leave out `--config`');
  return argument === undefined ? options : { ...options, config: argument };
}

/** Opens the catalog that the document names, for as long as `read` takes. */
export async function readCatalog<T>(
  context: CliContext,
  options: Values<typeof CATALOG_OPTIONS>,
  read: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const { loadPlan } = await import('./load-plan.ts');
  const { plan } = await loadPlan(context, {
    config: options.config,
    completion: options,
    onlyChecked: true,
  });
  const catalog = blockOf(plan, catalogBlock);
  if (catalog === undefined) {
    throw new AppError('no_catalog', 'the document has no `catalog`', {
      hint: 'see `headgate schema catalog`',
    });
  }
  const { openCatalogToRead } = await import('../../history/open-catalog.ts');
  const { createCatalog } = await import('../../features/catalog/catalog.ts');
  const { store, persistent, close } = await openCatalogToRead(catalog.url, context.env);
  try {
    if (!persistent)
      context.terminal.warn(
        'the catalog of this document is kept in memory, and ends with each run',
      );
    return await read(createCatalog(store, context.env));
  } finally {
    await close();
  }
}
