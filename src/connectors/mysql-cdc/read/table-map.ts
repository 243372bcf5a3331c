/** The event that describes a table before its rows: names, types and what is needed to read values. */
import { ByteReader } from './byte-reader.ts';

export const TYPE = {
  tiny: 1,
  short: 2,
  long: 3,
  float: 4,
  double: 5,
  timestamp: 7,
  longlong: 8,
  int24: 9,
  date: 10,
  time: 11,
  datetime: 12,
  year: 13,
  newDate: 14,
  varchar: 15,
  bit: 16,
  timestamp2: 17,
  datetime2: 18,
  time2: 19,
  typedArray: 20,
  blobCompressed: 140,
  varcharCompressed: 141,
  vector: 242,
  json: 245,
  decimal: 246,
  enum: 247,
  set: 248,
  tinyBlob: 249,
  mediumBlob: 250,
  longBlob: 251,
  blob: 252,
  varString: 253,
  string: 254,
  geometry: 255,
} as const;

export interface LogColumn {
  readonly name: string;
  readonly type: number;
  /** What the type needs besides: lengths, digits. */
  readonly meta: number;
  readonly isUnsigned: boolean;
  /** Of texts; that of bytes is 63. */
  readonly collation: number | undefined;
  /** Values of an `enum` or a `set`, in the character set of the column. */
  readonly labels: readonly Buffer[];
}

export interface TableMap {
  readonly id: number;
  readonly schema: string;
  readonly table: string;
  /** `undefined` where the log does not name the columns. */
  readonly columns: readonly LogColumn[] | undefined;
}

export function tableIdOf(body: Buffer): number {
  return new ByteReader(body).id();
}

export interface TableName {
  readonly schema: string;
  readonly table: string;
}

export function tableNameOf(body: Buffer): TableName {
  return nameAt(new ByteReader(body));
}

function nameAt(from: ByteReader): TableName {
  // The number of the table, and flags.
  from.skip(8);
  const schema = from.text(from.uint(1));
  from.skip(1);
  const table = from.text(from.uint(1));
  from.skip(1);
  return { schema, table };
}

/** The two systems count differently which columns are numbers, and which are texts. */
export function readTableMap(body: Buffer, isMariadb: boolean): TableMap {
  const from = new ByteReader(body);
  const { schema, table } = nameAt(from);
  const types = [...from.take(from.length())];
  const metas = readMetas(types, new ByteReader(from.take(from.length())));
  from.skip((types.length + 7) >> 3);
  const kinds = types.map((type, index) => realType(type, metas[index] ?? 0));
  const columns = readColumns(kinds, from, isMariadb);
  return { id: tableIdOf(body), schema, table, columns };
}

interface Kind {
  readonly type: number;
  readonly meta: number;
}

const TWO_BYTES: ReadonlySet<number> = new Set([
  TYPE.varchar,
  TYPE.varcharCompressed,
  TYPE.bit,
  TYPE.decimal,
  TYPE.enum,
  TYPE.set,
  TYPE.varString,
  TYPE.string,
  TYPE.typedArray,
]);
const ONE_BYTE: ReadonlySet<number> = new Set([
  TYPE.float,
  TYPE.double,
  TYPE.timestamp2,
  TYPE.datetime2,
  TYPE.time2,
  TYPE.blobCompressed,
  TYPE.vector,
  TYPE.json,
  TYPE.tinyBlob,
  TYPE.mediumBlob,
  TYPE.longBlob,
  TYPE.blob,
  TYPE.geometry,
]);

/** As they stand there: the first byte is the lowest. */
function readMetas(types: readonly number[], from: ByteReader): number[] {
  return types.map((type) => {
    if (TWO_BYTES.has(type)) return from.uint(2);
    return ONE_BYTE.has(type) ? from.uint(1) : 0;
  });
}

/** A `char` that may be long hides two bits of its length in its type; lists of labels come as `char`. */
function realType(type: number, meta: number): Kind {
  if (type !== TYPE.string) return { type, meta };
  const [first, second] = [meta & 0xff, meta >> 8];
  if ((first & 0x30) !== 0x30)
    return { type: first | 0x30, meta: second | (((first & 0x30) ^ 0x30) << 4) };
  return { type: first, meta: second };
}

const NUMBERS: ReadonlySet<number> = new Set([
  TYPE.tiny,
  TYPE.short,
  TYPE.int24,
  TYPE.long,
  TYPE.longlong,
  TYPE.decimal,
  TYPE.float,
  TYPE.double,
]);
const TEXTS: ReadonlySet<number> = new Set([
  TYPE.string,
  TYPE.varString,
  TYPE.varchar,
  TYPE.varcharCompressed,
  TYPE.tinyBlob,
  TYPE.mediumBlob,
  TYPE.longBlob,
  TYPE.blob,
  TYPE.blobCompressed,
]);

const FIELD = {
  signedness: 1,
  defaultCharset: 2,
  columnCharset: 3,
  names: 4,
  setLabels: 5,
  enumLabels: 6,
  labelsDefaultCharset: 10,
  labelsCharset: 11,
} as const;

function readColumns(
  kinds: readonly Kind[],
  from: ByteReader,
  isMariadb: boolean,
): LogColumn[] | undefined {
  const fields = new Map<number, Buffer>();
  while (from.left > 0) {
    const field = from.uint(1);
    fields.set(field, from.take(from.length()));
  }
  const names = readNames(fields.get(FIELD.names));
  if (names === undefined) return undefined;
  const unsigned = readSigns(kinds, fields.get(FIELD.signedness), isMariadb);
  const collations = readCollations(kinds, fields, isMariadb);
  const labels = readLabels(kinds, fields);
  return kinds.map(({ type, meta }, index) => ({
    name: names[index] ?? '',
    type,
    meta,
    isUnsigned: unsigned.has(index),
    collation: collations.get(index),
    labels: labels.get(index) ?? [],
  }));
}

function readNames(field: Buffer | undefined): string[] | undefined {
  if (field === undefined) return undefined;
  const from = new ByteReader(field);
  const names: string[] = [];
  while (from.left > 0) names.push(from.text(from.length()));
  return names;
}

function placesOf(kinds: readonly Kind[], isOne: (type: number) => boolean): number[] {
  return kinds.flatMap(({ type }, index) => (isOne(type) ? [index] : []));
}

/** One bit for each column of a number, the highest first. */
function readSigns(
  kinds: readonly Kind[],
  field: Buffer | undefined,
  isMariadb: boolean,
): Set<number> {
  const places = placesOf(kinds, (type) => NUMBERS.has(type) || (isMariadb && type === TYPE.year));
  const isSet = (bit: number): boolean => (((field?.[bit >> 3] ?? 0) << (bit & 7)) & 0x80) !== 0;
  return new Set(places.filter((_place, bit) => isSet(bit)));
}

function readCollations(
  kinds: readonly Kind[],
  fields: ReadonlyMap<number, Buffer>,
  isMariadb: boolean,
): Map<number, number> {
  const texts = placesOf(kinds, (type) => TEXTS.has(type) || (isMariadb && type === TYPE.geometry));
  const labels = placesOf(kinds, (type) => type === TYPE.enum || type === TYPE.set);
  return new Map([
    ...collationsOf(texts, fields.get(FIELD.defaultCharset), fields.get(FIELD.columnCharset)),
    ...collationsOf(
      labels,
      fields.get(FIELD.labelsDefaultCharset),
      fields.get(FIELD.labelsCharset),
    ),
  ]);
}

/** One for each, or a common one and those that differ. */
function collationsOf(
  places: readonly number[],
  common: Buffer | undefined,
  listed: Buffer | undefined,
): [place: number, collation: number][] {
  if (listed !== undefined) {
    const from = new ByteReader(listed);
    return places.map((place) => [place, from.length()]);
  }
  if (common === undefined) return [];
  const from = new ByteReader(common);
  const usual = from.length();
  const others = new Map<number, number>();
  while (from.left > 0) others.set(from.length(), from.length());
  return places.map((place, index) => [place, others.get(index) ?? usual]);
}

function readLabels(
  kinds: readonly Kind[],
  fields: ReadonlyMap<number, Buffer>,
): Map<number, Buffer[]> {
  return new Map([
    ...labelsOf(
      placesOf(kinds, (type) => type === TYPE.enum),
      fields.get(FIELD.enumLabels),
    ),
    ...labelsOf(
      placesOf(kinds, (type) => type === TYPE.set),
      fields.get(FIELD.setLabels),
    ),
  ]);
}

function labelsOf(
  places: readonly number[],
  field: Buffer | undefined,
): [place: number, labels: Buffer[]][] {
  if (field === undefined) return [];
  const from = new ByteReader(field);
  return places.map((place) => {
    const count = from.length();
    return [place, Array.from({ length: count }, () => from.take(from.length()))];
  });
}
