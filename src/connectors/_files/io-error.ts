import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { codeOf, fileFault } from '../../lib/files/file-fault.ts';

/**
 * Converts the error of a file operation, for example to `cannot read /data/a.csv: it does not
 * exist`. Our own errors are returned unchanged.
 */
export function fileError(error: unknown, verb: string, path: string): Error {
  if (error instanceof ConnectorError) return error;
  if (codeOf(error) === undefined)
    return error instanceof Error ? error : new Error(messageOf(error));
  const { kind, says, hint } = fileFault(error);
  const options = hint === undefined ? { cause: error } : { cause: error, hint };
  return new ConnectorError(kind, `cannot ${verb} ${path}: ${says}`, options);
}

/** Runs one file operation and converts its error. */
export async function onDisk<T>(verb: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error, verb, path);
  }
}
