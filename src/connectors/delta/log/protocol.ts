/** What a table asks of its readers and writers, and what of it is not available here. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { Metadata, Protocol } from './actions.ts';
import { fieldsBelow, type DeltaStruct } from '../schema/delta-types.ts';

const READABLE: ReadonlySet<string> = new Set([
  'columnMapping',
  'deletionVectors',
  'timestampNtz',
  'v2Checkpoint',
  'vacuumProtocolCheck',
]);

/** Those that ask nothing of a writer that only adds files and removes whole ones. */
const WRITABLE: ReadonlySet<string> = new Set([
  'appendOnly',
  'changeDataFeed',
  'deletionVectors',
  'domainMetadata',
  'timestampNtz',
  'v2Checkpoint',
  'vacuumProtocolCheck',
]);

/** Those that matter only where the table uses them, and how that is seen. */
const WHERE_USED: Readonly<Record<string, (metadata: Metadata, schema: DeltaStruct) => boolean>> = {
  invariants: (_, schema) => hasMetadata(schema, 'delta.invariants'),
  checkConstraints: ({ configuration }) =>
    Object.keys(configuration).some((name) => name.startsWith('delta.constraints.')),
  generatedColumns: (_, schema) => hasMetadata(schema, 'delta.generationExpression'),
  identityColumns: (_, schema) => hasMetadata(schema, 'delta.identity.'),
  allowColumnDefaults: (_, schema) => hasMetadata(schema, 'CURRENT_DEFAULT'),
  columnMapping: ({ configuration }) =>
    (configuration['delta.columnMapping.mode'] ?? 'none') !== 'none',
  inCommitTimestamp: ({ configuration }) =>
    configuration['delta.enableInCommitTimestamps'] === 'true',
};

/** The features of the versions before tables listed them. */
const OF_WRITER_VERSIONS: readonly (readonly [version: number, features: readonly string[]])[] = [
  [2, ['appendOnly', 'invariants']],
  [3, ['checkConstraints']],
  [4, ['changeDataFeed', 'generatedColumns']],
  [5, ['columnMapping']],
  [6, ['identityColumns']],
];
const LISTED_READER = 3;
const LISTED_WRITER = 7;

export const SIMPLE_PROTOCOL: Protocol = Object.freeze({
  minReaderVersion: 1,
  minWriterVersion: 2,
});

export function requireReadable(protocol: Protocol, table: string): void {
  const { minReaderVersion: version, readerFeatures = [] } = protocol;
  if (version > LISTED_READER) throw unknown(table, `version ${version} of readers`);
  const missing =
    version === LISTED_READER ? readerFeatures.filter((one) => !READABLE.has(one)) : [];
  if (missing.length > 0) throw unknown(table, features(missing));
}

export function requireWritable(
  { protocol, metadata, schema }: { protocol: Protocol; metadata: Metadata; schema: DeltaStruct },
  table: string,
): void {
  requireReadable(protocol, table);
  const { minWriterVersion: version } = protocol;
  if (version > LISTED_WRITER) throw unknown(table, `version ${version} of writers`);
  const missing = writerFeatures(protocol).filter((one) => {
    const isUsed = WHERE_USED[one];
    return isUsed === undefined ? !WRITABLE.has(one) : isUsed(metadata, schema);
  });
  if (missing.length > 0) throw unknown(table, features(missing), 'written');
}

/** The protocol with this feature, for a table that has it from now on. */
export function withFeature(protocol: Protocol, feature: string): Protocol {
  const { minReaderVersion, minWriterVersion, readerFeatures = [] } = protocol;
  const ofReaders = minReaderVersion === 2 ? ['columnMapping'] : readerFeatures;
  if (minWriterVersion === LISTED_WRITER && writerFeatures(protocol).includes(feature))
    return protocol;
  return {
    minReaderVersion: LISTED_READER,
    minWriterVersion: LISTED_WRITER,
    readerFeatures: [...new Set([...ofReaders, feature])],
    writerFeatures: [...new Set([...writerFeatures(protocol), feature])],
  };
}

export function writerFeatures({
  minWriterVersion,
  writerFeatures: listed = [],
}: Protocol): string[] {
  if (minWriterVersion === LISTED_WRITER) return [...listed];
  return OF_WRITER_VERSIONS.flatMap(([version, ones]) => (version <= minWriterVersion ? ones : []));
}

function hasMetadata(schema: DeltaStruct, start: string): boolean {
  return fieldsBelow(schema).some(({ metadata }) =>
    Object.keys(metadata).some((name) => name.startsWith(start)),
  );
}

function features(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``).join(', ');
  return names.length === 1 ? `the feature ${quoted}` : `the features ${quoted}`;
}

function unknown(table: string, what: string, verb = 'read'): ConnectorError {
  return new ConnectorError(
    'refused',
    `the table ${table} cannot be ${verb}: it uses ${what} of Delta`,
    {
      hint: `that is not available here; have the table made without it, or have it ${verb} by a program that knows it`,
    },
  );
}
