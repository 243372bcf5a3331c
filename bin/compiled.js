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
const NAME = /^(.+)-([0-9a-f]{8})-([a-z-]+)$/;
/** Two builds that are used in turn must not remove what the other one kept. */
const IN_USE_MS = 24 * 3600 * 1000;
/** V8 copies what does not begin at such a place. */
const ALIGNMENT = 8;

/**
 * `file` and what it requires are files of the bundle `build`. Runs for different purposes call different functions: what one of them
 * compiled is kept for its purpose, once for each file, and in the folder that Node has for this very version of itself. That is at the end of
 * a run; of a worker, which its server kills in the end, `workedMs` after it was given work.
 */
exports.runCompiled = function runCompiled(file, build, purpose, workedMs) {
  const folder = getCompileCacheDir();
  const name = `${path.basename(file, '.cjs')}-${build}-${nameOf(purpose)}`;
  const kept = folder === undefined ? undefined : path.join(folder, name);
  const files = new BundleFiles(kept === undefined ? new Map() : readKept(kept));
  if (kept !== undefined) keepCompiled(files, kept, workedMs);
  files.load(file);
};

class BundleFiles {
  #kept;
  #loaded = new Map();
  #builtins = new Map();
  #fresh = [];

  constructor(kept) {
    this.#kept = kept;
  }

  load(file) {
    const loaded = this.#loaded.get(file);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} };
    this.#loaded.set(file, module);
    try {
      this.#compile(file)(module.exports, this.#requireOf(file), module, file, path.dirname(file));
    } catch (error) {
      // As of any module: who asks again gets the same error, not half of a module.
      this.#loaded.delete(file);
      throw error;
    }
    return module.exports;
  }

  /** Everything that is worth keeping, and whether that is more than what was kept. */
  compiled() {
    const all = new Map(this.#kept);
    for (const [name, script] of this.#fresh) all.set(name, script.createCachedData());
    return { all, isMore: this.#fresh.length > 0 };
  }

  #compile(file) {
    const name = path.basename(file);
    const cachedData = this.#kept.get(name);
    // On one line, so that places in stack traces are those in the file. All of it is ASCII.
    const source = `(function (exports, require, module, __filename, __dirname) { ${readFileSync(file, 'latin1')}\n})`;
    const script = new vm.Script(source, { filename: file, cachedData });
    if (cachedData === undefined || script.cachedDataRejected) this.#fresh.push([name, script]);
    return script.runInThisContext();
  }

  #requireOf(file) {
    const folder = path.dirname(file);
    let outside;
    const require = (name) => {
      // The files of a bundle lie beside each other, and ask for the same parts of Node hundreds of times.
      if (name.startsWith('./') && name.endsWith('.cjs')) return this.load(path.join(folder, name));
      outside ??= createRequire(file);
      if (!name.startsWith('node:')) return outside(name);
      if (!this.#builtins.has(name)) this.#builtins.set(name, outside(name));
      return this.#builtins.get(name);
    };
    return require;
  }
}

/** A purpose is what somebody typed. */
function nameOf(purpose) {
  return /^[a-z-]{1,32}$/.test(purpose) ? purpose : 'other';
}

/** Compiled code by the name of its file. The length of a table stands first, then the table: names, and their places behind it. */
function readKept(kept) {
  try {
    const bytes = readFileSync(kept);
    const end = 4 + bytes.readUInt32LE(0);
    const table = JSON.parse(bytes.toString('latin1', 4, end));
    const codes = bytes.subarray(aligned(end));
    return new Map(table.map(([name, from, to]) => [name, codes.subarray(from, to)]));
  } catch {
    return new Map();
  }
}

function writeKept(part, compiled) {
  let end = 0;
  const table = [...compiled].map(([name, { length }]) => {
    const from = aligned(end);
    end = from + length;
    return [name, from, end];
  });
  const text = JSON.stringify(table);
  const begin = aligned(4 + text.length);
  const bytes = Buffer.alloc(begin + end);
  bytes.writeUInt32LE(text.length, 0);
  bytes.write(text, 4, 'latin1');
  for (const [name, from] of table) bytes.set(compiled.get(name), begin + from);
  // Flushed before it gets its name: V8 takes what it reads for whole.
  writeFileSync(part, bytes, { flush: true });
}

function aligned(place) {
  return Math.ceil(place / ALIGNMENT) * ALIGNMENT;
}

function keepCompiled(files, kept, workedMs) {
  let isKept = false;
  const keep = () => {
    if (isKept) return;
    isKept = true;
    const part = `${kept}.${process.pid}`;
    try {
      const { all, isMore } = files.compiled();
      if (!isMore) return;
      mkdirSync(path.dirname(kept), { recursive: true });
      writeKept(part, all);
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
    if (other === null || other[1] !== purpose[1] || other[3] !== purpose[3]) continue;
    const file = path.join(folder, name);
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined && Date.now() - found.mtimeMs > IN_USE_MS)
      rmSync(file, { force: true });
  }
}
