import type { Format } from '../_files/formats.ts';

const TYPES: Readonly<Record<Format, string>> = {
  json_lines: 'application/x-ndjson',
  json_array: 'application/json',
  csv: 'text/csv',
  xml: 'application/xml',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  parquet: 'application/vnd.apache.parquet',
  avro: 'application/avro',
  raw_text: 'text/plain; charset=utf-8',
};

export function contentTypeOf(format: Format): string {
  return TYPES[format];
}
