import { requireReadableDepth } from './parquet-depth.ts';
import type { ParquetFile, ParquetOutputOptions } from './parquet-file.ts';

/**
 * Starts a file. Uses the analytical engine where its package is installed, which is several times
 * as fast, and a smaller library elsewhere.
 */
export async function createParquetFile(options: ParquetOutputOptions): Promise<ParquetFile> {
  requireReadableDepth(options.columns);
  const { hasDuckdb } = await import('../../../lib/sql/duckdb.ts');
  if (!hasDuckdb()) return (await import('./parquet-writer.ts')).ParquetOutput.create(options);
  const { ParquetEngineOutput } = await import('./parquet-engine-writer.ts');
  return ParquetEngineOutput.create(options);
}
