import { ConnectorError } from '../../../lib/errors.ts';
import type { ParquetReader } from './parquet-reader.ts';

interface Named {
  readonly name: string;
}

interface CheckOptions<F extends Named> {
  /** How many files are opened at the same time. */
  readonly concurrency: number;
  readonly open: (file: F) => Promise<ParquetReader>;
}

export interface FileColumns extends Named {
  readonly columns: ReadonlyMap<string, string>;
}

/** Checks, before the first record is read, that all files of a data set have the same schema. */
export async function requireOneSchema<F extends Named>(
  files: readonly F[],
  options: CheckOptions<F>,
): Promise<void> {
  if (files.length < 2) return;
  let first: FileColumns | undefined;
  for (let at = 0; at < files.length; at += options.concurrency) {
    const some = await Promise.all(
      files.slice(at, at + options.concurrency).map((file) => columnsOf(file, options)),
    );
    for (const one of some) {
      first ??= one;
      requireSame(first, one);
    }
  }
}

async function columnsOf<F extends Named>(file: F, options: CheckOptions<F>): Promise<FileColumns> {
  const reader = await options.open(file);
  await reader.close();
  return { name: file.name, columns: reader.columns };
}

export function requireSame(a: FileColumns, b: FileColumns): void {
  for (const column of new Set([...a.columns.keys(), ...b.columns.keys()])) {
    const inA = a.columns.get(column);
    const inB = b.columns.get(column);
    if (inA === inB) continue;
    const says = `${inA ?? 'missing'} in ${a.name}, ${inB ?? 'missing'} in ${b.name}`;
    throw new ConnectorError(
      'data',
      `the files differ in the field ${JSON.stringify(column)}: ${says}`,
      {
        hint: 'read files with different schemas in separate rows',
      },
    );
  }
}
