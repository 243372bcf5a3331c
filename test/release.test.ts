/** A release of a small checkout: what the script writes, and what it refuses. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepare, tag } from '../scripts/release.ts';
import { entriesOf } from '../scripts/release/changelog.ts';
import { billOfMaterials, licenceText } from '../scripts/release/shipped.ts';
import { compareVersions, VERSION_PLACES } from '../scripts/release/version.ts';

const ROOT = resolve(import.meta.dirname, '..');
let folder: string;
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
const commit = (): void => {
  git('add', '-A');
  git('commit', '-qm', 'all');
};
const text = (name: string): string => readFileSync(join(folder, name), 'utf8');
const fragment = (name: string, content: string): void =>
  writeFileSync(join(folder, 'changelog.d', name), content);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-release-'));
  for (const file of Object.keys(VERSION_PLACES)) cpSync(join(ROOT, file), join(folder, file));
  mkdirSync(join(folder, 'changelog.d'));
  fragment('a.md', '- One.\n- Two.\n');
  fragment('b.md', 'Three\ngoes on.\n\nFour.\n');
  git('init', '-q');
  git('config', 'user.name', 'a');
  git('config', 'user.email', 'a@b');
  commit();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('preparing', () => {
  it('sets the version of package, lock file, chart and extension, and of nothing else', () => {
    prepare(folder, '99.1.0', '2026-01-31');
    const manifest = JSON.parse(text('package.json')) as { version: string };
    const lock = JSON.parse(text('package-lock.json')) as {
      version: string;
      packages: Record<string, { version: string }>;
    };
    const before = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as typeof lock;
    expect([manifest.version, lock.version, lock.packages['']?.version]).toEqual([
      '99.1.0',
      '99.1.0',
      '99.1.0',
    ]);
    expect({ ...lock.packages, '': 0 }).toEqual({ ...before.packages, '': 0 });
    expect(JSON.parse(text('editors/vscode/package.json'))).toMatchObject({ version: '99.1.0' });
    expect(text('deploy/helm/headgate/Chart.yaml')).toMatch(
      /^version: 99\.1\.0\nappVersion: 99\.1\.0$/m,
    );
  });

  it('moves the fragments below the version, and adds those that come before the tag', () => {
    prepare(folder, '99.1.0', '2026-01-31');
    expect(text('CHANGELOG.md')).toMatch(
      /^## 99\.1\.0 \(2026-01-31\)\n\n- One\.\n- Two\.\n- Three\n {2}goes on\.\n- Four\.\n$/m,
    );
    expect(readdirSync(join(folder, 'changelog.d'))).toEqual(['.gitkeep']);
    commit();
    fragment('c.md', '- Five.\n');
    commit();
    prepare(folder, '99.1.0', '2026-02-01');
    expect(text('CHANGELOG.md')).toMatch(
      /^## 99\.1\.0 \(2026-02-01\)\n\n- One\.[^#]*- Four\.\n- Five\.\n$/m,
    );
    expect(text('CHANGELOG.md').match(/^## /gm)).toHaveLength(1);
    commit();
    tag(folder);
    fragment('d.md', '- Six.\n');
    commit();
    prepare(folder, '99.2.0', '2026-03-01');
    expect(text('CHANGELOG.md')).toMatch(/## 99\.2\.0 [^#]*- Six\.\n\n## 99\.1\.0 /);
  });

  it('refuses changes that are not committed, versions that went before, and having nothing to tell', () => {
    expect(() => prepare(folder, '0.0.1', '2026-01-31')).toThrow('is before');
    expect(() => prepare(folder, 'next', '2026-01-31')).toThrow('"next" is no version');
    fragment('c.md', '- Five.\n');
    expect(() => prepare(folder, '99.1.0', '2026-01-31')).toThrow('changelog.d/c.md');
    commit();
    prepare(folder, '99.1.0', '2026-01-31');
    commit();
    expect(() => prepare(folder, '99.2.0', '2026-01-31')).toThrow('nothing to release');
  });
});

describe('a tag', () => {
  it('tells the changes, once', () => {
    expect(() => tag(folder)).toThrow('prepare it');
    prepare(folder, '99.1.0', '2026-01-31');
    expect(() => tag(folder)).toThrow('commit or remove');
    commit();
    expect(tag(folder)).toBe('v99.1.0');
    expect(git('tag', '--list', '-n9')).toContain('- Two.');
    expect(() => tag(folder)).toThrow('is there already');
  });
});

it('paragraphs and lists become entries', () => {
  expect(entriesOf('- a\n  b\n')).toBe('- a\n  b');
  expect(entriesOf('a\nb\n\nc')).toBe('- a\n  b\n- c');
});

it('versions are compared as numbers', () => {
  expect(compareVersions('0.10.0', '0.9.9')).toBeGreaterThan(0);
  expect(compareVersions('1.0.0', '1.0.0')).toBe(0);
});

describe('what is shipped', () => {
  const base = { licence: 'MIT', isBundled: false, texts: ['Do what you like.'] };
  const shipped = [
    { ...base, name: 'a', version: '1.0.0' },
    { ...base, name: 'b', version: '2.0.0', isBundled: true },
    { ...base, name: 'c', version: '3.0.0', texts: [] },
  ];

  it('stands with its licence, equal texts once', () => {
    const licences = licenceText(shipped);
    expect(licences.match(/Do what you like\./g)).toHaveLength(1);
    expect(licences).toContain('a 1.0.0 (MIT)\nb 2.0.0 (MIT), part of the bundle\n');
    expect(licences).toContain('c 3.0.0 (MIT)\n\nThe package brings no text of its licence.');
  });

  it('is the whole bill, without tools of developers', () => {
    const component = (name: string, version: string) => ({
      'bom-ref': `${name}@${version}`,
      name,
      version,
    });
    const everything = {
      metadata: { component: { name: 'folder', 'bom-ref': 'headgate@1.0.0' } },
      components: [component('a', '1.0.0'), component('b', '2.0.0'), component('tool', '1.0.0')],
      dependencies: [{ ref: 'headgate@1.0.0', dependsOn: ['a@1.0.0', 'tool@1.0.0'] }],
    };
    const bill = billOfMaterials(JSON.stringify(everything), shipped.slice(0, 2));
    expect(JSON.parse(bill)).toMatchObject({
      metadata: { component: { name: 'headgate' } },
      components: [{ name: 'a' }, { name: 'b' }],
      dependencies: [{ ref: 'headgate@1.0.0', dependsOn: ['a@1.0.0'] }],
    });
    expect(() => billOfMaterials(JSON.stringify(everything), shipped)).toThrow('c@3.0.0');
  });
});
