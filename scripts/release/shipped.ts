/**
 * What users get of other people's work: packages that are installed with ours, and those that the
 * bundle holds.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly isBundled: boolean;
  /** What lies beside its code: licences and notices. */
  readonly texts: readonly string[];
}

interface LockEntry {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const TEXT_FILE = /^(licen[cs]e|copying|notice|copyright)/i;

/** `folder` is a checkout whose bundle was just built. */
export function shippedPackages(folder: string): ShippedPackage[] {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockEntry>>;
  };
  const bundled = bundledFolders(join(folder, 'dist')).union(
    withDependencies(importedBy(join(folder, 'console/src')), lock.packages),
  );
  return Object.entries(lock.packages)
    .filter(([place, { dev = false }]) => place !== '' && (!dev || bundled.has(place)))
    .filter(([place, { optional = false }]) => !optional || existsSync(join(folder, place)))
    .map(([place, { version, license = 'unknown' }]) => ({
      name: place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license,
      isBundled: bundled.has(place),
      texts: textsIn(join(folder, place)),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** As the maps of the bundle name them: `node_modules/a/node_modules/b`. */
function bundledFolders(dist: string): Set<string> {
  const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.map'),
  );
  if (maps.length === 0) throw new Error(`${dist} holds no bundle: run \`npm run build\``);
  const sources = maps.flatMap(
    (name) => (JSON.parse(readFileSync(join(dist, name), 'utf8')) as { sources: string[] }).sources,
  );
  return new Set(
    sources.flatMap((source) => {
      const place = /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(source)?.[0];
      return place === undefined ? [] : [place];
    }),
  );
}

/** The console is built without maps. */
function importedBy(sources: string): string[] {
  const text = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(join(sources, name), 'utf8'))
    .join('\n');
  return [...text.matchAll(/(?:from|import) '((?:@[\w-]+\/)?[\w-]+)[^']*'/g)].map(
    ([, name = '']) => `node_modules/${name}`,
  );
}

function withDependencies(
  places: readonly string[],
  packages: Readonly<Record<string, LockEntry>>,
): Set<string> {
  const found = new Set<string>();
  const add = (place: string): void => {
    const entry = packages[place];
    if (entry === undefined || found.has(place)) return;
    found.add(place);
    for (const name of Object.keys(entry.dependencies ?? {})) {
      const nested = `${place}/node_modules/${name}`;
      add(nested in packages ? nested : `node_modules/${name}`);
    }
  };
  places.forEach(add);
  return found;
}

function textsIn(place: string): string[] {
  const names = readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT_FILE.test(entry.name))
    .map((entry) => entry.name);
  return names.sort().map((name) => readFileSync(join(place, name), 'utf8').trim());
}

/** Equal texts stand once, below all packages that have them. */
export function licenceText(packages: readonly ShippedPackage[]): string {
  const byText = Map.groupBy(packages, ({ texts }) => texts.join('\n\n'));
  const sections = [...byText].map(([text, those]) => {
    const titles = those.map(
      ({ name, version, licence, isBundled }) =>
        `${name} ${version} (${licence})${isBundled ? ', part of the bundle' : ''}`,
    );
    return `${titles.join('\n')}\n\n${text === '' ? 'The package brings no text of its licence.' : text}`;
  });
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  return `Packages that Headgate brings, and their licences${rule}${sections.join(rule)}\n`;
}

interface Bom {
  metadata: { component: { name: string; 'bom-ref': string } };
  components: { 'bom-ref': string; name: string; version: string }[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/** `everything` is what npm says of the lock file: the tools of developers are taken out of it. */
export function billOfMaterials(everything: string, packages: readonly ShippedPackage[]): string {
  const bom = JSON.parse(everything) as Bom;
  const shipped = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  const component = bom.metadata.component;
  // npm names it after the folder of the checkout.
  component.name = 'headgate';
  bom.components = bom.components.filter(({ 'bom-ref': ref }) => shipped.has(ref));
  const missing = shipped.difference(new Set(bom.components.map((one) => one['bom-ref'])));
  if (missing.size > 0) throw new Error(`npm sbom does not know ${[...missing].join(', ')}`);
  bom.dependencies = bom.dependencies
    .filter(({ ref }) => ref === component['bom-ref'] || shipped.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((on) => shipped.has(on)),
    }));
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}
