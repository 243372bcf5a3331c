/* Whether the bundle of a checkout was made of the sources that lie beside it. */
const { readdirSync, readFileSync, statSync } = require('node:fs');
const path = require('node:path');

const NOTE = path.join('dist', 'made-of.txt');
/** Beside the sources: what is built, how, and of which libraries. */
const OTHERS = [
  'package.json',
  'package-lock.json',
  path.join('scripts', 'build.ts'),
  ...['definition-lists.ts', 'program-bundle.ts', 'stand-in.js', 'start-modules.ts'].map((name) =>
    path.join('scripts', 'bundle', name),
  ),
  path.join('node_modules', '.package-lock.json'),
];
const LEFT_OUT = /\.(test\.ts|md)$/;
/** In place of a size. */
const FOLDER = 'folder';
const ABSENT = 'absent';

/**
 * Every file that a bundle is made of with its size and time of change: never two states with the same text, short of a forged clock.
 * Folders come first, with the time at which a file last came or went. They are looked at before they are listed, so that a file
 * that comes meanwhile makes the text wrong and not incomplete.
 */
exports.stateOfSources = function stateOfSources(folder) {
  const above = path.join(folder, 'src');
  const inside = (entry) => path.relative(folder, path.join(entry.parentPath, entry.name));
  const list = () => readdirSync(above, { recursive: true, withFileTypes: true });
  const folders = ['src', ...list().filter(isFolder).map(inside).sort()];
  const folderLines = linesOf(folder, folders);
  const files = list().filter(isMadeOf).map(inside).sort();
  return folderLines + linesOf(folder, [...files, ...OTHERS]);
};

function isFolder(entry) {
  return entry.isDirectory();
}

function isMadeOf(entry) {
  return entry.isFile() && !LEFT_OUT.test(entry.name);
}

function linesOf(folder, names) {
  return names.map((name) => `${name} ${stampOf(path.join(folder, name))}\n`).join('');
}

function stampOf(file) {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return `${ABSENT} 0`;
  return `${found.isDirectory() ? FOLDER : found.size} ${found.mtimeMs}`;
}

/** The file in which a build writes down what it was made of. */
exports.noteOfBundle = function noteOfBundle(folder) {
  return path.join(folder, NOTE);
};

/** Every start asks, so that nothing is listed where no file came or went. */
exports.isBundleOfSources = function isBundleOfSources(folder) {
  try {
    const note = readFileSync(exports.noteOfBundle(folder), 'utf8');
    // Of the files that came or went, perhaps none is part of a bundle.
    return isAsNoted(folder, note) || filesOf(note) === filesOf(exports.stateOfSources(folder));
  } catch {
    return false;
  }
};

/** Numbers are compared, because their texts take longer to make than to read. */
function isAsNoted(folder, note) {
  let from = 0;
  for (let end = note.indexOf('\n'); end !== -1; end = note.indexOf('\n', from)) {
    const time = note.lastIndexOf(' ', end);
    const size = note.lastIndexOf(' ', time - 1);
    const file = `${folder}${path.sep}${note.slice(from, size)}`;
    if (!isStill(file, note.slice(size + 1, time), Number(note.slice(time + 1, end)))) return false;
    from = end + 1;
  }
  return from > 0;
}

function isStill(file, size, time) {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return size === ABSENT;
  if (found.mtimeMs !== time) return false;
  return size === FOLDER ? found.isDirectory() : found.size === Number(size);
}

function filesOf(state) {
  return state
    .split('\n')
    .filter((line) => !line.includes(` ${FOLDER} `))
    .join('\n');
}
