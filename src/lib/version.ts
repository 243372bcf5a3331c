import { existsSync, readFileSync } from 'node:fs';

let known: string | undefined;

/** The version of this program, in a checkout and in a package. */
export function programVersion(): string {
  return (known ??= readVersion());
}

function readVersion(): string {
  const places = ['../../package.json', '../package.json'].map(
    (path) => new URL(path, import.meta.url),
  );
  const manifest = places.find((place) => existsSync(place));
  if (manifest === undefined) throw new Error('cannot happen: the program has no package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
