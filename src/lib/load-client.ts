import { ConnectorError } from './errors.ts';

/** The client of a vendor, which is loaded when a document needs it and may not be installed. */
export async function loadClient<T>(packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new ConnectorError('refused', `its client (${packages}) is not installed here`, {
      hint: `npm install ${packages}`,
      cause: error,
    });
  }
}
