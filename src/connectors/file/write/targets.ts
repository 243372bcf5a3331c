import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { permittedFile } from '../../../lib/files/file-access.ts';
import { withoutCodecSuffix } from '../../_files/compression/compression.ts';
import { onDisk } from '../../_files/io-error.ts';
import { codeOf } from '../../../lib/files/file-fault.ts';
import { resolvePath } from '../../_files/paths.ts';
import { extensionOf } from '../../_files/formats.ts';
import { isNumbered, sinkCodec, sinkFormat, type FileSinkConfig } from './sink-config.ts';

/** The path of the config with `{part}` in it, where there are parts. */
export function pattern(config: FileSinkConfig): string {
  const { path } = config;
  if (path.endsWith('/')) {
    const format = sinkFormat(config) ?? 'json_lines';
    return `${path}part-{part}${extensionOf(format, sinkCodec(config))}`;
  }
  if (!isNumbered(config) || path.includes('{part}')) return path;
  const stem = withoutCodecSuffix(path);
  const dot = basename(stem).lastIndexOf('.');
  const cut = dot <= 0 ? stem.length : stem.length - (basename(stem).length - dot);
  return `${path.slice(0, cut)}-{part}${path.slice(cut)}`;
}

/** Its absolute form. */
export function absolutePattern(config: FileSinkConfig, cwd: string): string {
  return resolvePath(cwd, pattern(config));
}

export function partPath(parts: string, part: number): string {
  return permittedFile(parts.replaceAll('{part}', String(part).padStart(5, '0')));
}

/** Parts that are there already, by number; a single file counts as part 1. */
export async function existingParts(target: string): Promise<Map<number, string>> {
  const folder = dirname(target);
  const name = basename(target);
  const parts = new Map<number, string>();
  if (!name.includes('{part}')) return (await isThere(target)) ? parts.set(1, target) : parts;
  const names = await onDisk('list', folder, () => readdir(folder).catch(orIfMissing([])));
  const shape = shapeOf(name);
  for (const found of names) {
    const number = shape.exec(found)?.[1];
    if (number !== undefined) parts.set(Number(number), join(folder, found));
  }
  return parts;
}

/** Recognises the names of the files that the pattern stands for. */
export function isPartOf(target: string): (name: string) => boolean {
  const shape = shapeOf(basename(target));
  return (name) => shape.test(name);
}

function shapeOf(name: string): RegExp {
  return new RegExp(`^${name.split('{part}').map(escaped).join('(\\d{5,})')}$`);
}

async function isThere(path: string): Promise<boolean> {
  const found = await onDisk('read', path, () => lstat(path).catch(orIfMissing(undefined)));
  return found !== undefined;
}

function orIfMissing<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === 'ENOENT') return nothing;
    throw error;
  };
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
