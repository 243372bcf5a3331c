/**
 * The static files that the server answers with. They are read once and looked up by their exact
 * name: no part of a request is ever joined to a path.
 *
 * The entity tag is a digest of the content. Time and size would not do: npm gives all files of a
 * package the same time, so that two versions of a page could share a tag.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';

export interface Asset {
  readonly contentType: string;
  readonly etag: string;
  readonly bytes: Uint8Array;
}

export interface Assets {
  /** Undefined for a name that is not in the folder. */
  find(name: string): Promise<Asset | undefined>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export function createAssets(folder: string = assetFolder()): Assets {
  let loading: Promise<ReadonlyMap<string, Asset>> | undefined;
  return { find: async (name) => (await (loading ??= load(folder))).get(name) };
}

/** In the sources of a checkout; beside the bundle in a package (`scripts/build.ts` copies it). */
function assetFolder(): string {
  const besideBundle = path.join(import.meta.dirname, 'assets');
  return existsSync(besideBundle) ? besideBundle : path.join(import.meta.dirname, '../assets');
}

async function load(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const names = (await readdir(folder)).filter((name) => contentTypeOf(name) !== undefined);
  return new Map(
    await Promise.all(
      names.map(async (name) => {
        const bytes = await readFile(path.join(folder, name));
        const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 27);
        const contentType = contentTypeOf(name) ?? 'application/octet-stream';
        return [name, { contentType, etag: `"${digest}"`, bytes }] as const;
      }),
    ),
  );
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
