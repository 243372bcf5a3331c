/** What a document needs of records whose source knows their fields, or that are JSON. */
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { TypeInference } from '../../kit/infer-types.ts';
import { typeText } from '../../kit/type-text.ts';
import {
  canonicalJson,
  hasField,
  isObject,
  jsonText,
  type JsonValue,
} from '../../lib/text/json.ts';
import { count } from '../../lib/text/count.ts';
import { adviceOf, contractTypeOf, type Findings } from './delimited-draft.ts';
import type { DraftSource, Setting } from './draft.ts';
import { keyCandidates, type FoundColumn } from './find-columns.ts';

export interface RecordSource {
  readonly type: string;
  readonly settings: readonly Setting[];
  /** Whether the source takes `columns`, because its data has no types. */
  readonly takesTypes: boolean;
}

export function recordFindings(
  records: readonly JsonValue[],
  schema: RecordSchema | undefined,
  source: RecordSource,
): Findings {
  const known = schema ?? inferred(records);
  const columns = known.fields.map(({ name, type, evidence }) => ({
    ...columnOf(name, type, records),
    because: evidenceText(evidence),
  }));
  const [key] = keyCandidates(columns);
  return {
    source: sourceOf(source, columns),
    transforms: [],
    fields: columns.map((column) => ({
      name: column.name,
      contractType: contractTypeOf(column.kind),
      isKey: column === key,
      isOptional: records.some((record) => !isObject(record) || !hasField(record, column.name)),
    })),
    advice: adviceOf(columns),
    key: key === undefined ? [] : [key.name],
    keyField: key?.name,
    records: records.length,
  };
}

function sourceOf(
  { type, settings, takesTypes }: RecordSource,
  columns: readonly FoundColumn[],
): DraftSource {
  if (!takesTypes) return { type, settings, columns: [] };
  return {
    type,
    settings: [
      ...settings,
      {
        key: 'on_error',
        value: 'dlq',
        because: 'a record that does not fit is put aside, and the run goes on',
      },
    ],
    columns: columns.map(({ name, type: written, because }) => ({ name, type: written, because })),
  };
}

function inferred(records: readonly JsonValue[]): RecordSchema {
  const inference = new TypeInference({ fromText: false });
  for (const record of records) inference.add(record);
  return inference.schema();
}

function evidenceText(evidence: RecordSchema['fields'][number]['evidence']): string {
  if (evidence === undefined) return 'as the source says';
  const { values, empty, because } = evidence;
  const seen = `${count(values, 'value')}${empty === 0 ? '' : `, ${empty} null`}`;
  return because === undefined ? seen : `${seen}; ${because}`;
}

function columnOf(name: string, type: RecordType, records: readonly JsonValue[]): FoundColumn {
  const all = records.map((record) =>
    isObject(record) && hasField(record, name) ? (record[name] ?? null) : null,
  );
  const values = all.filter((value) => value !== null);
  return {
    name,
    finalName: name,
    type: type.kind === 'utf8' || type.kind === 'json' ? undefined : typeText(type),
    kind: type.kind,
    hasDecimalComma: false,
    because: '',
    values: values.length,
    empty: all.length - values.length,
    different: new Set(values.map((value) => canonicalJson(value))).size,
    isAscending: values.every((value, index) => index === 0 || isNotLess(value, values[index - 1])),
  };
}

function isNotLess(value: JsonValue, before: JsonValue | undefined): boolean {
  if (before === undefined || before === null || value === null) return true;
  const areNumbers = typeof value !== 'object' && typeof value === typeof before;
  return areNumbers ? value >= before : jsonText(value) >= jsonText(before);
}
