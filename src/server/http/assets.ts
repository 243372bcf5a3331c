/**
 * The static files that the server answers with: its own, and those of the console. They are read
 * once and looked up by their exact name: no part of a request is ever joined to a path.
 *
 * The entity tag is a digest of the content. Time and size would not do: npm gives all files of a
 * package the same time, so that two versions of a page could share a tag.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface Asset {
  readonly contentType: string;
  readonly etag: string;
  readonly bytes: Uint8Array;
  /** For clients that take it; absent where it is not worth it. */
  readonly gzipped?: Uint8Array;
  /** Its name changes with its content. */
  readonly isNamedByContent: boolean;
}

export interface Assets {
  /** Undefined for a name that is not in the folders. */
  find(name: string): Promise<Asset | undefined>;
}

interface AssetFolders {
  /** Default: the one that comes with the server. */
  readonly own?: string;
  /** What `scripts/build.ts` makes of the console. Absent: there is none. */
  readonly console?: string;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const SHORTEST_GZIPPED = 1024;
const NO_CONSOLE =
  '<p><strong>The web console is not built:</strong> run <code>npm run build</code> in the checkout and start the server again.</p>';

export function createAssets(folders: AssetFolders = {}): Assets {
  let loading: Promise<ReadonlyMap<string, Asset>> | undefined;
  return { find: async (name) => (await (loading ??= loadAll(folders))).get(name) };
}

async function loadAll({ own, console: built }: AssetFolders): Promise<ReadonlyMap<string, Asset>> {
  const files = await load(own ?? assetFolder());
  if (built === undefined) return files;
  if (!existsSync(path.join(built, 'index.html'))) return withNote(files);
  const [page, parts] = await Promise.all([
    load(built),
    load(path.join(built, 'assets'), { isNamedByContent: true }),
  ]);
  return new Map([...files, ...page, ...parts]);
}

/** In the sources of a checkout; beside the bundle in a package (`scripts/build.ts` copies it). */
function assetFolder(): string {
  const besideBundle = path.join(import.meta.dirname, 'assets');
  return existsSync(besideBundle) ? besideBundle : path.join(import.meta.dirname, '../assets');
}

/** Beside the bundle, or in that of the checkout where the sources are run. */
export function consoleFolder(): string {
  return existsSync(path.join(import.meta.dirname, 'assets'))
    ? path.join(import.meta.dirname, 'console')
    : path.join(import.meta.dirname, '../../../dist/console');
}

async function load(
  folder: string,
  { isNamedByContent = false } = {},
): Promise<Map<string, Asset>> {
  const names = (await readdir(folder)).filter((name) => contentTypeOf(name) !== undefined);
  return new Map(
    await Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(path.join(folder, name));
        const contentType = contentTypeOf(name) ?? 'application/octet-stream';
        return [name, await assetOf(bytes, { contentType, isNamedByContent })] as const;
      }),
    ),
  );
}

async function assetOf(
  bytes: Uint8Array,
  about: Pick<Asset, 'contentType' | 'isNamedByContent'>,
): Promise<Asset> {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 27);
  const asset = { ...about, etag: `"${digest}"`, bytes };
  if (bytes.length < SHORTEST_GZIPPED || about.contentType.startsWith('font/')) return asset;
  return { ...asset, gzipped: await promisify(gzip)(bytes) };
}

/** The page of links, which says in one sentence how to get the console. */
async function withNote(files: Map<string, Asset>): Promise<ReadonlyMap<string, Asset>> {
  const page = files.get('index.html');
  if (page === undefined) return files;
  const text = new TextDecoder().decode(page.bytes).replace('</h1>', `</h1>\n      ${NO_CONSOLE}`);
  return files.set('index.html', await assetOf(new TextEncoder().encode(text), page));
}

function contentTypeOf(name: string): string | undefined {
  return CONTENT_TYPES[path.extname(name)];
}

/** Whether the client holds this very version (`If-None-Match`, compared weakly as RFC 9110 asks). */
export function isHeldByClient(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

/** Whether the client takes gzip; `gzip;q=0` says that it does not. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((offer) => {
    const [name = '', ...settings] = offer.split(';').map((part) => part.trim().toLowerCase());
    return ['gzip', '*'].includes(name) && !settings.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
