/** The formats of files, by the names that documents give them. */
import type { Codec } from './compression/compression.ts';

export const FORMATS = [
  'json_lines',
  'json_array',
  'csv',
  'xml',
  'xlsx',
  'parquet',
  'avro',
  'raw_text',
] as const;
export type Format = (typeof FORMATS)[number];

const EXTENSIONS: Readonly<Record<string, Format>> = {
  jsonl: 'json_lines',
  ndjson: 'json_lines',
  json: 'json_array',
  csv: 'csv',
  xml: 'xml',
  xlsx: 'xlsx',
  parquet: 'parquet',
  avro: 'avro',
  txt: 'raw_text',
};

/**
 * The format that an extension means, after the suffix of a compression has been removed; `undefined`
 * when no format has it.
 */
export function formatOfName(name: string): Format | 'orc' | undefined {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return extension === 'orc' ? 'orc' : EXTENSIONS[extension];
}

const EXTENSION_OF: Readonly<Record<Format, string>> = {
  json_lines: '.jsonl',
  json_array: '.json',
  csv: '.csv',
  xml: '.xml',
  xlsx: '.xlsx',
  parquet: '.parquet',
  avro: '.avro',
  raw_text: '.txt',
};
const CODEC_SUFFIX: Readonly<Record<Codec, string>> = { none: '', gzip: '.gz', zstd: '.zst' };

/** The end of the names of files of a format. */
export function extensionOf(format: Format, codec: Codec): string {
  return EXTENSION_OF[format] + CODEC_SUFFIX[codec];
}
