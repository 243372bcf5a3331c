import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { permittedFile } from '../../../lib/files/file-access.ts';
import { withoutCodecSuffix } from '../../_files/compression/compression.ts';
import { codeOf, onDisk } from '../../_files/io-error.ts';
import { resolvePath } from '../../_files/paths.ts';
import {
  isNumbered,
  sinkCodec,
  sinkFormat,
  type FileSinkConfig,
  type SinkFormat,
} from './sink-config.ts';

const EXTENSIONS: Readonly<Record<SinkFormat, string>> = {
  json_lines: '.jsonl',
  json_array: '.json',
  csv: '.csv',
  xml: '.xml',
  xlsx: '.xlsx',
  parquet: '.parquet',
  raw_text: '.txt',
};

const CODEC_SUFFIX = { none: '', gzip: '.gz', zstd: '.zst' } as const;

/** The absolute path with `{part}` still in it, where there are parts. */
export function template(config: FileSinkConfig, cwd: string): string {
  const { path } = config;
  const format = sinkFormat(config) ?? 'json_lines';
  if (path.endsWith('/'))
    return join(
      resolvePath(cwd, path),
      `part-{part}${EXTENSIONS[format]}${CODEC_SUFFIX[sinkCodec(config)]}`,
    );
  const full = resolvePath(cwd, path);
  if (!isNumbered(config) || full.includes('{part}')) return full;
  const stem = withoutCodecSuffix(full);
  const dot = basename(stem).lastIndexOf('.');
  const cut = dot <= 0 ? stem.length : stem.length - (basename(stem).length - dot);
  return `${full.slice(0, cut)}-{part}${full.slice(cut)}`;
}

export function partPath(pattern: string, part: number): string {
  return permittedFile(pattern.replaceAll('{part}', String(part).padStart(5, '0')));
}

/** Parts that are there already, by number; a single file counts as part 1. */
export async function existingParts(pattern: string): Promise<Map<number, string>> {
  const folder = dirname(pattern);
  const name = basename(pattern);
  const parts = new Map<number, string>();
  const names = await onDisk('list', folder, () => readdir(folder).catch(noneIfMissing));
  if (!name.includes('{part}')) return names.includes(name) ? parts.set(1, pattern) : parts;
  const shape = shapeOf(name);
  for (const found of names) {
    const number = shape.exec(found)?.[1];
    if (number !== undefined) parts.set(Number(number), join(folder, found));
  }
  return parts;
}

/** Tells the names of the files that the pattern stands for. */
export function isPartOf(pattern: string): (name: string) => boolean {
  const shape = shapeOf(basename(pattern));
  return (name) => shape.test(name);
}

function shapeOf(name: string): RegExp {
  return new RegExp(`^${name.split('{part}').map(escaped).join('(\\d{5,})')}$`);
}

function noneIfMissing(error: unknown): string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
