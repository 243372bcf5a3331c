/*
 * Runs a bundled program with the code that V8 compiled for it when it ran before. Node's own compile cache keeps what loading a file
 * compiles, and none of the functions that are compiled when they are first called: of a bundle, that is nearly all there is.
 */
const {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { createRequire, getCompileCacheDir } = require('node:module');
const path = require('node:path');
const vm = require('node:vm');

/** Program, build and purpose. */
const NAME = /^(.+)-[^-]+\.cjs-([a-z-]+)$/;
/** Two builds that are used in turn must not remove what the other one kept. */
const IN_USE_MS = 24 * 3600 * 1000;

/**
 * `file` must have a name that changes with what stands in it. Runs for different purposes call different functions: what one of them
 * compiled is kept for its purpose, once, and in the folder that Node has for this very version of itself. That is at the end of a run; of a
 * worker, which its server kills in the end, `workedMs` after it was given work.
 */
exports.runCompiled = function runCompiled(file, purpose, workedMs) {
  const folder = getCompileCacheDir();
  const kept =
    folder === undefined
      ? undefined
      : path.join(folder, `${path.basename(file)}-${nameOf(purpose)}`);
  const cachedData = kept === undefined ? undefined : readKept(kept);
  // On one line, so that places in stack traces are those in the file.
  const source = `(function (exports, require, module, __filename, __dirname) { ${readFileSync(file, 'utf8')}\n})`;
  const script = new vm.Script(source, { filename: file, cachedData });
  if (kept !== undefined && (cachedData === undefined || script.cachedDataRejected))
    keepCompiled(script, kept, workedMs);
  const module = { exports: {} };
  const require = rememberingBuiltins(createRequire(file));
  script.runInThisContext()(module.exports, require, module, file, path.dirname(file));
};

/** The modules of a bundle ask for the same parts of Node hundreds of times. */
function rememberingBuiltins(load) {
  const builtins = new Map();
  const require = (name) => {
    if (!name.startsWith('node:')) return load(name);
    if (!builtins.has(name)) builtins.set(name, load(name));
    return builtins.get(name);
  };
  return Object.assign(require, load);
}

/** A purpose is what somebody typed. */
function nameOf(purpose) {
  return /^[a-z-]{1,32}$/.test(purpose) ? purpose : 'other';
}

function readKept(kept) {
  try {
    return readFileSync(kept);
  } catch {
    return undefined;
  }
}

function keepCompiled(script, kept, workedMs) {
  let isKept = false;
  const keep = () => {
    if (isKept) return;
    isKept = true;
    const part = `${kept}.${process.pid}`;
    try {
      mkdirSync(path.dirname(kept), { recursive: true });
      // Flushed before it gets its name: V8 takes what it reads for whole.
      writeFileSync(part, script.createCachedData(), { flush: true });
      renameSync(part, kept);
      removeOlder(kept);
    } catch {
      // Where nothing can be kept, the next run compiles again.
      rmSync(part, { force: true });
    }
  };
  if (workedMs !== undefined) process.once('message', () => setTimeout(keep, workedMs).unref());
  // Not of a run that failed: it compiled less than others will need, and its purpose may be a slip of the pen.
  process.once('exit', (code) => {
    if (code === 0) keep();
  });
}

/** What other builds of the program kept for the same purpose, unless they may still be in use. */
function removeOlder(kept) {
  const folder = path.dirname(kept);
  const purpose = NAME.exec(path.basename(kept));
  if (purpose === null) return;
  for (const name of readdirSync(folder)) {
    const other = NAME.exec(name);
    if (other === null || other[1] !== purpose[1] || other[2] !== purpose[2]) continue;
    const file = path.join(folder, name);
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined && Date.now() - found.mtimeMs > IN_USE_MS)
      rmSync(file, { force: true });
  }
}
