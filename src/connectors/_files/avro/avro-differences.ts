/**
 * What reading with another schema than a file was written with would lose or change without a word.
 * Avro leaves fields out that the reader does not have, and knows nothing of logical types: a number
 * of milliseconds read as microseconds is another time, and digits move behind another decimal point.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import { logicalName, type AvroField, type Schema, type SchemaObject } from './avro-values.ts';

/** What a file is read with, and where it comes from. */
export interface ReadWith {
  readonly schema: unknown;
  /** The file whose schema it is; `undefined` for a schema that the document gives. */
  readonly file: string | undefined;
}

/**
 * A schema that the document gives may leave fields out, and read numbers as it says; but not take
 * one logical type for another.
 */
export function refuseDifferences(
  written: unknown,
  name: string,
  { schema, file }: ReadWith,
): void {
  const found = new Comparison(written, schema, file === undefined).between(
    written as Schema,
    schema as Schema,
    '',
  );
  if (found === undefined) return;
  const { field, inFile, wanted } = found;
  const says = `${wanted} in ${file ?? '`avro.schema`'}, ${inFile} in ${name}`;
  const who = file === undefined ? 'a file differs from `avro.schema`' : 'the files differ';
  throw new ConnectorError('data', `${who} in the field ${JSON.stringify(field)}: ${says}`, {
    hint: hintFor(wanted, file),
  });
}

function hintFor(wanted: string, file: string | undefined): string {
  if (file === undefined) return 'give the field the type that it has in the file';
  const apart = 'read files with different schemas in separate rows';
  return wanted === MISSING
    ? `${apart}, or give the fields that all are read with as \`avro.schema\``
    : apart;
}

interface Difference {
  readonly field: string;
  readonly inFile: string;
  readonly wanted: string;
}

const MISSING = 'missing';

class Comparison {
  readonly #written: ReadonlyMap<string, SchemaObject>;
  readonly #wanted: ReadonlyMap<string, SchemaObject>;
  readonly #isGiven: boolean;
  /** A record may contain itself. */
  readonly #seen = new Map<SchemaObject, Set<SchemaObject>>();

  constructor(written: unknown, wanted: unknown, isGiven: boolean) {
    this.#written = namedTypes(written);
    this.#wanted = namedTypes(wanted);
    this.#isGiven = isGiven;
  }

  between(written: Schema, wanted: Schema, field: string): Difference | undefined {
    const others = branchesOf(wanted, this.#wanted);
    for (const one of branchesOf(written, this.#written)) {
      // A branch that has no counterpart is left to Avro, which converts or refuses it.
      const other =
        others.length === 1
          ? others[0]
          : (others.find((branch) => isAlike(one, branch) && !this.#isAnother(one, branch)) ??
            others.find((branch) => isAlike(one, branch)));
      const found = other === undefined ? undefined : this.#ofTypes(one, other, field);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #ofTypes(written: SchemaObject, wanted: SchemaObject, field: string): Difference | undefined {
    const seen = this.#seen.get(written) ?? new Set();
    if (seen.has(wanted)) return undefined;
    this.#seen.set(written, seen.add(wanted));
    if (this.#isAnother(written, wanted))
      return { field, inFile: nameOf(written), wanted: nameOf(wanted) };
    if (written.items !== undefined && wanted.items !== undefined)
      return this.between(written.items, wanted.items, field);
    if (written.values !== undefined && wanted.values !== undefined)
      return this.between(written.values, wanted.values, field);
    if (written.fields === undefined || wanted.fields === undefined) return undefined;
    return this.#ofFields(written.fields, wanted.fields, field);
  }

  #ofFields(
    written: readonly AvroField[],
    wanted: readonly AvroField[],
    parent: string,
  ): Difference | undefined {
    for (const { name, type } of written) {
      const field = parent === '' ? name : `${parent}.${name}`;
      const other = wanted.find((one) => one.name === name || one.aliases?.includes(name) === true);
      if (other === undefined && this.#isGiven) continue;
      if (other === undefined) return { field, inFile: nameOf(type), wanted: MISSING };
      const found = this.between(type, other.type, field);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isAnother(written: SchemaObject, wanted: SchemaObject): boolean {
    const one = measureOf(written);
    const other = measureOf(wanted);
    // Who gives a schema may know what a number without a logical type means, or want the number.
    if (this.#isGiven) return one !== undefined && other !== undefined && one !== other;
    return one !== other || ROUNDED.includes(`${nameOf(written)} as ${nameOf(wanted)}`);
  }
}

/** Numbers that Avro converts to ones with fewer digits. */
const ROUNDED: readonly string[] = ['int as float', 'long as float', 'long as double'];

/** What a number or bytes are counted in; logical types of texts change nothing. */
function measureOf(schema: SchemaObject): string | undefined {
  const name = logicalName(schema);
  if (name === 'decimal') return `decimal with ${schema.scale ?? 0} decimals`;
  return name !== undefined && /^(?:date$|duration$|time-|(?:local-)?timestamp-)/.test(name)
    ? name
    : undefined;
}

function nameOf(schema: Schema): string {
  if (typeof schema === 'string') return schema;
  if (Array.isArray(schema))
    return (schema as readonly Schema[])
      .filter((branch) => branch !== 'null')
      .map(nameOf)
      .join(' or ');
  const one = schema as SchemaObject;
  return measureOf(one) ?? nameOf(one.type);
}

function isAlike(a: SchemaObject, b: SchemaObject): boolean {
  return a.type === b.type && a.name === b.name;
}

/** The alternatives that are not null, each as a mapping that says its type by name. */
function branchesOf(
  schema: Schema,
  names: ReadonlyMap<string, SchemaObject>,
): readonly SchemaObject[] {
  if (Array.isArray(schema))
    return (schema as readonly Schema[]).flatMap((branch) => branchesOf(branch, names));
  if (typeof schema === 'string')
    return schema === 'null' ? [] : [names.get(schema) ?? { type: schema }];
  const one = schema as SchemaObject;
  return typeof one.type === 'string' ? [names.get(one.type) ?? one] : branchesOf(one.type, names);
}

/** Named types, which other places of a schema refer to by their name, with or without namespace. */
function namedTypes(
  schema: unknown,
  found = new Map<string, SchemaObject>(),
): ReadonlyMap<string, SchemaObject> {
  if (Array.isArray(schema)) for (const one of schema) namedTypes(one, found);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return found;
  const one = schema as SchemaObject & { readonly namespace?: string };
  if (one.name !== undefined) {
    found.set(one.name, one);
    if (one.namespace !== undefined) found.set(`${one.namespace}.${one.name}`, one);
  }
  for (const inner of [one.type, one.items, one.values]) namedTypes(inner, found);
  for (const { type } of one.fields ?? []) namedTypes(type, found);
  return found;
}
