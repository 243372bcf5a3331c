/**
 * Makes a release, in three steps that can be looked at one by one:
 *
 *     node scripts/release.ts prepare 1.2.3      # version and CHANGELOG.md; commit the result
 *     node scripts/release.ts artefacts FOLDER   # package, bill of materials, licences, checksums
 *     node scripts/release.ts tag                # v1.2.3 at the commit that is checked out
 *
 * Nothing is published and nothing is pushed.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sectionOf, withRelease } from './release/changelog.ts';
import { billOfMaterials, licenceText, shippedPackages } from './release/shipped.ts';
import { compareVersions, VERSION_PLACES, withVersion } from './release/version.ts';

const CHANGELOG = 'CHANGELOG.md';
const FRAGMENTS = 'changelog.d';

/** Commands run in `root`, a checkout. */
function output(root: string, command: string, args: readonly string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 256 * 2 ** 20 });
}

function refuseUncommitted(root: string): void {
  const changed = output(root, 'git', ['status', '--porcelain']).trim();
  if (changed !== '') throw new Error(`commit or remove these first:\n${changed}`);
}

function versionOf(root: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return (manifest as { readonly version: string }).version;
}

function isTagged(root: string, version: string): boolean {
  return output(root, 'git', ['tag', '--list', `v${version}`]).trim() !== '';
}

/** Sets the version and moves the fragments into the list of changes. */
export function prepare(root: string, version: string, date: string): void {
  const order = compareVersions(version, versionOf(root));
  if (order < 0) throw new Error(`${version} is before ${versionOf(root)}`);
  if (isTagged(root, version)) throw new Error(`${version} is tagged: choose a later version`);
  refuseUncommitted(root);
  const names = readdirSync(join(root, FRAGMENTS)).filter((name) => name.endsWith('.md'));
  if (names.length === 0) throw new Error(`${FRAGMENTS} is empty: there is nothing to release`);
  const fragments = names.sort().map((name) => readFileSync(join(root, FRAGMENTS, name), 'utf8'));
  const changes = join(root, CHANGELOG);
  const earlier = existsSync(changes) ? readFileSync(changes, 'utf8') : '';
  writeFileSync(changes, withRelease(earlier, { version, date, fragments }));
  for (const file of Object.keys(VERSION_PLACES)) {
    const path = join(root, file);
    writeFileSync(path, withVersion(file, readFileSync(path, 'utf8'), version));
  }
  for (const name of names) rmSync(join(root, FRAGMENTS, name));
  // Git keeps no empty folder.
  writeFileSync(join(root, FRAGMENTS, '.gitkeep'), '');
}

/** Puts what is published into the folder; none of it is committed. */
function makeArtefacts(root: string, folder: string): void {
  refuseUncommitted(root);
  const version = versionOf(root);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // Builds the bundle, too.
  output(root, 'npm', ['pack', '--pack-destination', folder]);
  const packages = shippedPackages(root);
  const bom = output(root, 'npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']);
  const changes = changesOf(root, version);
  write(folder, `headgate-${version}.cdx.json`, billOfMaterials(bom, packages));
  write(folder, 'THIRD-PARTY-LICENCES.txt', licenceText(packages));
  write(folder, 'CHANGES.md', `${changes}\n`);
  write(folder, 'SHA256SUMS', checksums(folder));
}

function changesOf(root: string, version: string): string {
  const file = join(root, CHANGELOG);
  const changes = existsSync(file) ? sectionOf(readFileSync(file, 'utf8'), version) : undefined;
  if (changes === undefined) throw new Error(`${CHANGELOG} does not know ${version}: prepare it`);
  return changes;
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

/** In the form that `sha256sum --check` reads. */
function checksums(folder: string): string {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const digest = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex');
      return `${digest}  ${name}\n`;
    })
    .join('');
}

/** An annotated tag with the changes of the version. */
export function tag(root: string): string {
  refuseUncommitted(root);
  const version = versionOf(root);
  if (isTagged(root, version)) throw new Error(`v${version} is there already`);
  const changes = changesOf(root, version);
  const message = `Headgate ${version}\n\n${changes}`;
  output(root, 'git', ['tag', '--annotate', `v${version}`, '--cleanup=verbatim', '-m', message]);
  return `v${version}`;
}

function main([step, value = '']: readonly string[]): string {
  const root = resolve(import.meta.dirname, '..');
  if (step === 'prepare' && value !== '') {
    prepare(root, value, new Date().toISOString().slice(0, 10));
    output(root, join(root, 'node_modules/.bin/oxfmt'), [CHANGELOG]);
    return `read ${CHANGELOG}, then commit; \`npm run check\` and \`npm test\` before the tag`;
  }
  if (step === 'artefacts' && value !== '') {
    makeArtefacts(root, resolve(value));
    return `${resolve(value)}: ${readdirSync(value).sort().join(', ')}`;
  }
  if (step === 'tag') return `${tag(root)} is made; nothing was pushed`;
  throw new Error('usage: node scripts/release.ts prepare VERSION | artefacts FOLDER | tag');
}

if (import.meta.main) {
  try {
    process.stdout.write(`${main(process.argv.slice(2))}\n`);
  } catch (error) {
    process.stderr.write(`error: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
