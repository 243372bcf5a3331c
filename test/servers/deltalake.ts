/** delta-rs, another program that reads and writes tables of Delta Lake, for tests: a package of PyPI. */
import { pythonProgram, type PythonProgram } from './py-program.ts';
import { DELTALAKE_FOLDER } from './test-servers.ts';

export type DeltaRs = PythonProgram;

export const deltalake = pythonProgram({
  name: 'deltalake',
  folder: DELTALAKE_FOLDER,
  program: 'delta-rs.py',
});
