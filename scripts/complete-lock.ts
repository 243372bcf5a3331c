/**
 * Adds to `package-lock.json` the optional platform packages that the registry at hand does not
 * carry. `npm install` leaves such packages out of the lock file, and `npm ci` then refuses the
 * lock file everywhere. Run it after every `npm install`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface Entry {
  version?: string;
  dev?: boolean;
  license?: string;
  optionalDependencies?: Record<string, string>;
}

const SYSTEMS = [
  'android',
  'darwin',
  'freebsd',
  'netbsd',
  'openbsd',
  'openharmony',
  'linux',
  'win32',
  'sunos',
  'aix',
];
const PROCESSORS = [
  'arm64',
  'x64',
  'ia32',
  'ppc64',
  'riscv64',
  's390x',
  'loong64',
  'mips64el',
  'arm',
];
const path = resolve(import.meta.dirname, '../package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Entry> };

let added = 0;
for (const [parent, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (
      lock.packages[key] !== undefined ||
      lock.packages[`${parent}/${key}`] !== undefined ||
      !/^\d/.test(version)
    )
      continue;
    const platform = platformOf(name);
    if (platform === undefined) continue;
    lock.packages[key] = {
      version,
      ...(entry.dev === true ? { dev: true } : {}),
      license: entry.license ?? 'MIT',
      ...platform,
    };
    added += 1;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} packages added`);

function platformOf(name: string): object | undefined {
  const words = name.split('/').at(-1)?.split('-') ?? [];
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  if (os === undefined) return undefined;
  const libc = words.includes('musl')
    ? { libc: ['musl'] }
    : os === 'linux' && words.some((word) => word.startsWith('gnu'))
      ? { libc: ['glibc'] }
      : {};
  return { ...(cpu === undefined ? {} : { cpu: [cpu] }), ...libc, optional: true, os: [os] };
}
