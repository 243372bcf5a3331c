#!/usr/bin/env -S node --
/*
 * The launcher. Written for old Node versions on purpose (16 and newer can read it): Headgate itself needs Node 24, and this file
 * finds one. The `--` of the first line keeps Node from reading our own `--env-file` (and from ending with a message of its own where
 * there is no such file). It runs the bundle in an installed package; in a checkout the sources, or a bundle that was made of exactly these sources.
 */
const { existsSync, readFileSync } = require('node:fs');
const modules = require('node:module');
const { constants, homedir } = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const NEEDED_MAJOR = 24;
/** Set for the process we start, so that a pinned Node that is itself too old cannot start another one, for ever. */
const GUARD = 'HEADGATE_LAUNCHED';
/** Set to anything, a checkout runs its sources even when a bundle of them lies beside. */
const SOURCES = 'HEADGATE_SOURCES';
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGBREAK'];
const packageFolder = path.dirname(__dirname);

if (Number.parseInt(process.versions.node, 10) >= NEEDED_MAJOR) start();
else relaunch();

function start() {
  if (process.env[GUARD] !== undefined) endWithLauncher();
  // Workers and commands started from here inherit the environment; each of them decides for itself.
  delete process.env[GUARD];
  keepCompiledCode();
  const bundle = path.join(packageFolder, 'dist', 'main.cjs');
  const sources = path.join(packageFolder, 'src', 'main.ts');
  if (existsSync(sources) && !runsBundle()) void import(pathToFileURL(sources).href);
  else require(bundle);
}

/** Node does not strip types below node_modules, so a package brings a bundle and no sources; a checkout may have both. */
function runsBundle() {
  if (process.env[SOURCES] !== undefined) return false;
  return require('./bundle.js').isBundleOfSources(packageFolder);
}

/** The next start need not compile again. Where nothing can be kept, Node goes on without; NODE_COMPILE_CACHE names another folder. */
function keepCompiledCode() {
  if (typeof modules.enableCompileCache === 'function') modules.enableCompileCache(cacheFolder());
}

/** Undefined, for one among the temporary files, where there is no home. */
function cacheFolder() {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (process.env.NODE_COMPILE_CACHE) return process.env.NODE_COMPILE_CACHE;
  if (process.platform === 'win32')
    return LOCALAPPDATA && path.join(LOCALAPPDATA, 'headgate', 'cache');
  if (XDG_CACHE_HOME && path.isAbsolute(XDG_CACHE_HOME))
    return path.join(XDG_CACHE_HOME, 'headgate');
  try {
    return path.join(
      homedir(),
      process.platform === 'darwin' ? path.join('Library', 'Caches') : '.cache',
      'headgate',
    );
  } catch {
    return undefined;
  }
}

/** The launcher and this process are one program to whoever kills the launcher; a SIGKILL cannot be passed on by it. */
function endWithLauncher() {
  if (process.channel === undefined) return;
  process.channel.unref();
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}

function relaunch() {
  const node = process.env[GUARD] === undefined ? findNode() : undefined;
  if (node === undefined) return refuse();
  // Not at the top: loading it is a good part of a start that does not need it.
  const { spawn } = require('node:child_process');
  const child = spawn(node, [...process.execArgv, '--', __filename, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [GUARD]: '1' },
  });
  const forward = (signal) => child.kill(signal);
  const forwarded = FORWARDED.filter((signal) => signal in constants.signals);
  for (const signal of forwarded) process.on(signal, forward);
  child.on('error', (error) => {
    process.stderr.write(`error: ${node} cannot be started: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code === null ? 1 : code;
      return;
    }
    // Whoever waits for us must see the same end: die of the signal the child died of.
    for (const name of forwarded) process.removeListener(name, forward);
    process.kill(process.pid, signal);
  });
}

/** The Node that the npm package `node` brings, from this package or any folder above it (hoisted installations). */
function findNode() {
  const executable = process.platform === 'win32' ? 'node.exe' : 'node';
  const places = [
    ['node', 'bin', executable],
    [
      `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`,
      'bin',
      executable,
    ],
    [
      'node',
      'node_modules',
      `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`,
      'bin',
      executable,
    ],
    ['.bin', executable],
  ];
  for (let folder = packageFolder; ; folder = path.dirname(folder)) {
    for (const place of places) {
      const candidate = path.join(folder, 'node_modules', ...place);
      if (existsSync(candidate)) return candidate;
    }
    if (folder === path.dirname(folder)) return undefined;
  }
}

function refuse() {
  const { name, peerDependencies } = JSON.parse(
    readFileSync(path.join(packageFolder, 'package.json'), 'utf8'),
  );
  const node = `node@${peerDependencies.node}`;
  process.stderr.write(
    `error: Headgate needs Node ${NEEDED_MAJOR} or newer; this is Node ${process.versions.node} and no newer one was found beside the package\n` +
      `hint: install Node ${NEEDED_MAJOR} from https://nodejs.org, or let npm bring it: \`npx -p ${node} -p ${name} ${name} …\`, ` +
      `or \`npm install ${node}\` (with \`-g\` where ${name} was installed with it; with install scripts allowed)\n`,
  );
  process.exitCode = 1;
}
