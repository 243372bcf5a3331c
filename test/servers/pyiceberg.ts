/** PyIceberg, another program that reads and writes tables of Iceberg, for tests: a package of PyPI. */
import { pythonProgram, type PythonProgram } from './py-program.ts';
import { PYICEBERG_FOLDER } from './test-servers.ts';

export type PyIceberg = PythonProgram;

export const pyiceberg = pythonProgram({
  name: 'pyiceberg',
  folder: PYICEBERG_FOLDER,
  program: 'py-iceberg.py',
});
