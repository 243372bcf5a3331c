/* Whether the bundle of a checkout was made of the sources that lie beside it. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const NOTE = path.join('dist', 'made-of.txt');
/** Beside the sources: what is built, how, and of which libraries. */
const OTHERS = [
  'package.json',
  'package-lock.json',
  path.join('scripts', 'build.ts'),
  path.join('node_modules', '.package-lock.json'),
];
const LEFT_OUT = /\.(test\.ts|md)$/;

/** Every file that a bundle is made of with its size and time of change: never two states with the same text, short of a forged clock. */
export function stateOfSources(folder) {
  const sources = readdirSync(path.join(folder, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !LEFT_OUT.test(entry.name))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
  return [...sources, ...OTHERS]
    .map((name) => `${name} ${stampOf(path.join(folder, name))}\n`)
    .join('');
}

function stampOf(file) {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? 'absent' : `${found.size} ${found.mtimeMs}`;
}

export function noteOfBundle(folder) {
  return path.join(folder, NOTE);
}

export function isBundleOfSources(folder) {
  try {
    return readFileSync(noteOfBundle(folder), 'utf8') === stateOfSources(folder);
  } catch {
    return false;
  }
}
