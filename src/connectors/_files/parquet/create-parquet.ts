import type { ParquetFile, ParquetOutputOptions } from './parquet-file.ts';

/**
 * Begins a file: with the analytical engine where its package is installed, several times as fast,
 * and with a smaller library elsewhere.
 */
export async function createParquetFile(options: ParquetOutputOptions): Promise<ParquetFile> {
  const { hasDuckdb } = await import('../../../lib/sql/duckdb.ts');
  if (!hasDuckdb()) return (await import('./parquet-writer.ts')).ParquetOutput.create(options);
  const { ParquetEngineOutput } = await import('./parquet-engine-writer.ts');
  return ParquetEngineOutput.create(options);
}
