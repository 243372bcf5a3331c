/** OpenLineage events (2-0-2) as plain documents. Facets that say nothing are left out. */
import type { ColumnOrigins } from '../../engine/observe/column-origins.ts';
import type { RecordShape } from '../../engine/observe/samples.ts';
import type { JsonObject } from '../../lib/text/json.ts';

export type EventType = 'START' | 'RUNNING' | 'COMPLETE' | 'ABORT' | 'FAIL';

const SPEC = 'https://openlineage.io/spec';

export interface EventDataset {
  readonly uri: string;
  /** The schema of its records, where it is known. */
  readonly shape?: RecordShape;
}

export interface EventFacts {
  readonly type: EventType;
  readonly time: Date;
  readonly producer: string;
  readonly namespace: string;
  readonly runId: string;
  readonly job: string;
  readonly startedAt: Date;
  readonly endedAt?: Date;
  readonly parent?: { readonly namespace: string; readonly name: string; readonly runId: string };
  /** The document, where events tell it. */
  readonly sourceCode?: string;
  readonly inputs: readonly EventDataset[];
  readonly output?: EventDataset;
  readonly origins?: ColumnOrigins;
}

export function lineageEvent(facts: EventFacts): JsonObject {
  const { namespace, producer, inputs, output, origins } = facts;
  const columnLineage = origins === undefined ? {} : columnLineageFacet(facts, origins);
  return {
    eventType: facts.type,
    eventTime: facts.time.toISOString(),
    run: { runId: facts.runId, ...facets(runFacets(facts)) },
    job: { namespace, name: facts.job, ...facets(sourceCodeFacet(facts)) },
    inputs: inputs.map(({ uri, shape }) => ({
      namespace,
      name: uri,
      ...facets(schemaFacet(producer, shape)),
    })),
    outputs:
      output === undefined
        ? []
        : [
            {
              namespace,
              name: output.uri,
              ...facets({ ...schemaFacet(producer, output.shape), ...columnLineage }),
            },
          ],
    producer,
    schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
  };
}

function facets(given: JsonObject): JsonObject {
  return Object.keys(given).length === 0 ? {} : { facets: given };
}

function facet(
  producer: string,
  schema: { readonly version: string; readonly name: string },
  body: JsonObject,
): JsonObject {
  const { version, name } = schema;
  return {
    _producer: producer,
    _schemaURL: `${SPEC}/facets/${version}/${name}.json#/$defs/${name}`,
    ...body,
  };
}

function runFacets({ producer, startedAt, endedAt, parent }: EventFacts): JsonObject {
  const times = {
    nominalStartTime: startedAt.toISOString(),
    ...(endedAt === undefined ? {} : { nominalEndTime: endedAt.toISOString() }),
  };
  const nominalTime = facet(producer, { version: '1-0-1', name: 'NominalTimeRunFacet' }, times);
  if (parent === undefined) return { nominalTime };
  const { namespace, name, runId } = parent;
  const above = { run: { runId }, job: { namespace, name } };
  return {
    nominalTime,
    parent: facet(producer, { version: '1-0-1', name: 'ParentRunFacet' }, above),
  };
}

function sourceCodeFacet({ producer, sourceCode }: EventFacts): JsonObject {
  if (sourceCode === undefined) return {};
  const code = { language: 'yaml', sourceCode };
  return { sourceCode: facet(producer, { version: '1-0-1', name: 'SourceCodeJobFacet' }, code) };
}

/** The type of a field is that of its first value that is not null. */
function schemaFacet(producer: string, shape: RecordShape | undefined): JsonObject {
  if (shape === undefined || shape.length === 0) return {};
  const fields = shape.map(({ name, types: [first = 'null'] }) => ({ name, type: first }));
  return { schema: facet(producer, { version: '1-1-1', name: 'SchemaDatasetFacet' }, { fields }) };
}

function columnLineageFacet(
  { producer, namespace, inputs: [input] }: EventFacts,
  origins: ColumnOrigins,
): JsonObject {
  if (input === undefined || Object.keys(origins).length === 0) return {};
  const fields = Object.fromEntries(
    Object.entries(origins).map(([column, from]) => [
      column,
      { inputFields: from.map((field) => ({ namespace, name: input.uri, field })) },
    ]),
  );
  return {
    columnLineage: facet(
      producer,
      { version: '1-2-0', name: 'ColumnLineageDatasetFacet' },
      { fields },
    ),
  };
}
