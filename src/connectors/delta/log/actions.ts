/** What the lines of a commit, and the rows of a checkpoint, do to a table. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
  readonly readerFeatures?: readonly string[];
  readonly writerFeatures?: readonly string[];
}

export interface Metadata {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  /** As it was read, for what is written again. */
  readonly raw: JsonObject;
}

export interface DeletionVector {
  readonly storageType: string;
  readonly pathOrInlineDv: string;
  readonly offset?: number;
  readonly sizeInBytes: number;
  readonly cardinality: number;
}

/** A data file, with what is marked as deleted in it. */
export interface AddedFile {
  /** Relative to the table, with no characters encoded. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly deletionVector?: DeletionVector;
  readonly raw: JsonObject;
}

/** Everything that lines may say; lines of other kinds say nothing of the state of a table. */
export type Action =
  | { readonly is: 'protocol'; readonly protocol: Protocol; readonly raw: JsonObject }
  | { readonly is: 'metaData'; readonly metadata: Metadata }
  | { readonly is: 'add'; readonly add: AddedFile }
  | { readonly is: 'remove'; readonly key: string; readonly raw: JsonObject }
  | {
      readonly is: 'txn';
      readonly appId: string;
      readonly version: number;
      readonly raw: JsonObject;
    }
  | { readonly is: 'domainMetadata'; readonly domain: string; readonly raw: JsonObject }
  | { readonly is: 'commitInfo'; readonly info: JsonObject }
  | { readonly is: 'sidecar'; readonly path: string };

/** Tells the states of one data file apart: with other rows deleted, it is another one. */
export function fileKey(path: string, vector: DeletionVector | undefined): string {
  if (vector === undefined) return path;
  const { storageType, pathOrInlineDv, offset } = vector;
  return `${path}\n${storageType}${pathOrInlineDv}@${offset ?? ''}`;
}

/** `where` is for errors. `undefined` for lines that change nothing. */
export function actionOf(line: JsonObject, where: string): Action | undefined {
  for (const [kind, value] of Object.entries(line)) {
    if (!isObject(value)) continue;
    const fields = new Fields(value, where);
    switch (kind) {
      case 'protocol':
        return { is: kind, protocol: protocolOf(fields), raw: value };
      case 'metaData':
        return { is: kind, metadata: metadataOf(fields, value) };
      case 'add':
        return { is: kind, add: addOf(fields, value) };
      case 'remove': {
        const key = fileKey(fields.path(), vectorOf(value['deletionVector'], where));
        return { is: kind, key, raw: value };
      }
      case 'txn':
        return {
          is: kind,
          appId: fields.text('appId'),
          version: fields.number('version'),
          raw: value,
        };
      case 'domainMetadata':
        return { is: kind, domain: fields.text('domain'), raw: value };
      case 'commitInfo':
        return { is: kind, info: value };
      case 'sidecar':
        return { is: kind, path: fields.path() };
      default:
    }
  }
  return undefined;
}

function protocolOf(fields: Fields): Protocol {
  const readerFeatures = fields.texts('readerFeatures');
  const writerFeatures = fields.texts('writerFeatures');
  return {
    minReaderVersion: fields.number('minReaderVersion'),
    minWriterVersion: fields.number('minWriterVersion'),
    ...(readerFeatures === undefined ? {} : { readerFeatures }),
    ...(writerFeatures === undefined ? {} : { writerFeatures }),
  };
}

function metadataOf(fields: Fields, raw: JsonObject): Metadata {
  const { configuration } = raw;
  const settings = isObject(configuration) ? Object.entries(configuration) : [];
  return {
    id: fields.text('id'),
    schemaString: fields.text('schemaString'),
    partitionColumns: fields.texts('partitionColumns') ?? [],
    configuration: Object.fromEntries(settings.map(([name, value]) => [name, jsonText(value)])),
    raw,
  };
}

function addOf(fields: Fields, raw: JsonObject): AddedFile {
  const { partitionValues } = raw;
  const values = isObject(partitionValues) ? Object.entries(partitionValues) : [];
  const vector = vectorOf(raw['deletionVector'], fields.where);
  return {
    path: fields.path(),
    partitionValues: Object.fromEntries(
      values.map(([name, value]) => [name, value === null ? null : jsonText(value)]),
    ),
    ...(vector === undefined ? {} : { deletionVector: vector }),
    raw,
  };
}

function vectorOf(value: JsonValue | undefined, where: string): DeletionVector | undefined {
  if (!isObject(value)) return undefined;
  const fields = new Fields(value, where);
  const { offset } = value;
  return {
    storageType: fields.text('storageType'),
    pathOrInlineDv: fields.text('pathOrInlineDv'),
    sizeInBytes: fields.number('sizeInBytes'),
    cardinality: fields.number('cardinality'),
    ...(typeof offset === 'number' ? { offset } : {}),
  };
}

/** The fields of an action, whose types are checked. */
class Fields {
  readonly where: string;
  readonly #value: JsonObject;

  constructor(value: JsonObject, where: string) {
    this.#value = value;
    this.where = where;
  }

  text(name: string): string {
    const value = this.#value[name];
    return typeof value === 'string' ? value : this.#fail(name);
  }

  number(name: string): number {
    const value = Number(this.#value[name] ?? Number.NaN);
    return Number.isSafeInteger(value) ? value : this.#fail(name);
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#value[name];
    if (value === undefined || value === null) return undefined;
    return Array.isArray(value) ? value.map(String) : this.#fail(name);
  }

  /** Paths are written as parts of addresses. */
  path(): string {
    const written = this.text('path');
    if (/^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|\/)/.test(written))
      throw new ConnectorError(
        'refused',
        `${this.where} names a file outside of the folder of the table: ${written}`,
        {
          hint: 'shallow clones and other tables of foreign files cannot be read; copy the table as a whole',
        },
      );
    try {
      return decodeURIComponent(written);
    } catch {
      return this.#fail('path');
    }
  }

  #fail(name: string): never {
    throw new ConnectorError(
      'data',
      `${this.where} is damaged: \`${name}\` is missing or of another type`,
      {
        hint: 'check the table with another reader of Delta',
      },
    );
  }
}
