/**
 * Images without a Docker engine and without a registry: Buildah builds on a base image that is made
 * of the packages of this machine (Debian) and the pinned Node. What it built is started with
 * `unshare`, as process 1, with a root that cannot be written. Needs to be root.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { installedOrReason, type InstalledOrReason } from './installed.ts';

/** As an image says it. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

export interface Build {
  readonly dockerfile: string;
  readonly ignoreFile: string;
  readonly context: string;
}

export interface StartOptions {
  readonly env: Readonly<Record<string, string>>;
  /** Folders of this machine by where the container has them. */
  readonly volumes: Readonly<Record<string, string>>;
}

/** Is killed at its end. */
export interface Container extends Disposable {
  /** Its process 1, as this machine sees it: what it writes, how it ends. */
  readonly process: ChildProcess;
  signal(name: NodeJS.Signals): void;
  /** Runs another command in it. */
  run(command: readonly string[]): { readonly status: number | null; readonly output: string };
}

export function buildahOrReason(): InstalledOrReason<Images> {
  const { status } = spawnSync('unshare', [
    '--mount',
    '--pid',
    '--fork',
    'mount',
    '--make-rprivate',
    '/',
  ]);
  if (status !== 0) return { reason: 'mounts of its own are not allowed here: be root' };
  return installedOrReason('buildah', () => Promise.resolve(new Images()));
}

export class Images implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'headgate-image-'));

  /** Builds an image on the base image, and gives what can be started. */
  build({ dockerfile, ignoreFile, context }: Build): Image {
    const base = this.#buildah('from', 'scratch');
    writeSystem(this.#buildah('mount', base));
    for (const variable of [
      'PATH=/usr/local/bin:/usr/bin:/bin',
      `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`,
    ])
      this.#buildah('config', '--env', variable, base);
    this.#buildah('commit', '--quiet', base, 'localhost/base');
    this.#buildah('rm', base);
    const how = ['--isolation', 'chroot', '--network', 'host', '--format', 'docker'];
    const files = ['--file', dockerfile, '--ignorefile', ignoreFile];
    const named = ['--build-arg', 'NODE_IMAGE=localhost/base', '--tag', 'localhost/made'];
    this.#buildah('build', ...how, ...files, ...named, context);
    const inspected: unknown = JSON.parse(
      this.#buildah('inspect', '--type', 'image', 'localhost/made'),
    );
    const { config } = (inspected as { readonly Docker: { readonly config: ImageConfig } }).Docker;
    return new Image(this.#buildah('mount', this.#buildah('from', 'localhost/made')), config);
  }

  #buildah(...args: readonly string[]): string {
    const store = ['--root', join(this.#folder, 'root'), '--runroot', join(this.#folder, 'run')];
    const all = [...store, '--storage-driver', 'vfs', ...args];
    const { status, stdout, stderr } = spawnSync('buildah', all, {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0)
      throw new Error(`buildah ${args.join(' ')} ended with ${status}: ${stderr.slice(-4000)}`);
    return stdout.trim();
  }

  [Symbol.dispose](): void {
    this.#buildah('rm', '--all');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The containers see these mounts, and nobody else does. */
const MOUNTS = `set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec "$@"`;

class Image {
  readonly #root: string;
  readonly config: ImageConfig;

  constructor(root: string, config: ImageConfig) {
    this.#root = root;
    this.config = config;
  }

  /** What the image says is run, by its user, in its folder, with its environment. */
  start({ env, volumes }: StartOptions): Container {
    const { Entrypoint, Cmd } = this.config;
    const mounts = Object.entries(volumes).flatMap(([inside, outside]) => [outside, inside]);
    const command = this.#inside(env, [...Entrypoint, ...Cmd]);
    const process_ = spawn(
      'unshare',
      ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', MOUNTS, 'sh', this.#root].concat(
        mounts,
        '--',
        command,
      ),
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const first = (): string => {
      const { pid } = process_;
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    };
    return {
      process: process_,
      signal: (name) => void process.kill(Number(first()), name),
      run: (other) => {
        const entered = [
          '--target',
          first(),
          '--mount',
          '--pid',
          '--',
          ...this.#inside(env, other),
        ];
        const { status, stdout, stderr } = spawnSync('nsenter', entered, { encoding: 'utf8' });
        return { status, output: stdout + stderr };
      },
      [Symbol.dispose]: () => void process_.kill('SIGKILL'),
    };
  }

  #inside(env: Readonly<Record<string, string>>, command: readonly string[]): string[] {
    const { User, Env, WorkingDir } = this.config;
    const own = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const user = User.split(':').map((id) => `+${id}`);
    const at = ['sh', '-c', 'cd "$1" && shift && exec "$@"', 'sh', WorkingDir];
    const chroot = ['chroot', `--userspec=${user.join(':')}`, '--groups=', this.#root];
    return [...chroot, '/usr/bin/env', '-i', ...Env, ...own, ...at, ...command];
  }
}

/** What a shell, npm and compiled modules need of a system. */
const PACKAGES = (
  'base-files coreutils dash libacl1 libattr1 libc6 libgcc-s1 libgmp10 libpcre2-8-0 libselinux1 ' +
  'libssl3 libstdc++6'
).split(' ');
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

function writeSystem(root: string): void {
  const place = (path: string): string => {
    const at = join(root, path);
    mkdirSync(dirname(at), { recursive: true });
    return at;
  };
  for (const name of MERGED) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const name of ['tmp', 'proc', 'dev', 'root', 'etc']) mkdirSync(join(root, name));
  const listed = execFileSync('dpkg', ['-L', ...PACKAGES], { encoding: 'utf8' }).split('\n');
  const isNeeded = (file: string): boolean =>
    file !== '' &&
    !file.startsWith('/usr/share/') &&
    existsSync(file) &&
    !statSync(file).isDirectory();
  for (const file of new Set(listed.filter(isNeeded))) {
    // `/bin/sh` lies in `/usr/bin`.
    const real = join(realpathSync(dirname(file)), basename(file));
    cpSync(real, place(real), { verbatimSymlinks: true });
  }
  copyFileSync(process.execPath, place('usr/local/bin/node'));
  const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
  const npm = [join(modules, 'npm'), '/usr/lib/node_modules/npm', '/usr/share/nodejs/npm'];
  const from = npm.find((path) => existsSync(path));
  if (from === undefined) throw new Error(`npm is in none of ${npm.join(', ')}`);
  cpSync(from, place('usr/local/lib/npm'), { recursive: true, dereference: true });
  symlinkSync('../lib/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  symlinkSync('../lib/npm/bin/npx-cli.js', join(root, 'usr/local/bin/npx'));
  for (const file of ['/etc/passwd', '/etc/group', '/etc/resolv.conf', '/etc/hosts', CERTIFICATES])
    if (existsSync(file)) copyFileSync(file, place(file));
  // How this machine reaches the registry of npm.
  const settings = join(homedir(), '.npmrc');
  if (existsSync(settings)) copyFileSync(settings, place('root/.npmrc'));
  else writeFileSync(place('root/.npmrc'), '');
}
