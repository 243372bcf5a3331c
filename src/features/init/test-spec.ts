/** The file of cases beside a first document: it passes as it is, and fails when something changes. */
import { stringify } from 'yaml';
import { isObject, stringifyJson, type JsonValue } from '../../lib/text/json.ts';

export interface FirstTest {
  /** As the spec file names it. */
  readonly document: string;
  /** Records as the source gives them, and as they reach the sink. */
  readonly input: readonly JsonValue[];
  readonly output: readonly JsonValue[];
  /** The field that no record may lack, as the source calls it. */
  readonly keyField: string | undefined;
}

export function testSpecOf({ document, input, output, keyField }: FirstTest): string {
  const config = stringify(document).trim();
  const [first] = input;
  const broken =
    keyField === undefined || !isObject(first ?? null)
      ? undefined
      : { ...(first as Record<string, JsonValue>), [keyField]: null };
  return [
    '# Cases for `headgate test`: records go in, what has to come out is compared, and nothing else is touched.',
    'version: 1',
    'tests:',
    '  - name: the first records come out as expected',
    `    config: ${config}`,
    '    input:',
    ...input.map(line),
    '    expect:',
    ...(output.length === 0 ? ['      records: []'] : ['      records:', ...output.map(line)]),
    ...(broken === undefined
      ? []
      : [
          '',
          `  - name: ${stringify(`a record without ${keyField} is put aside`, { lineWidth: 0 }).trim()}`,
          `    config: ${config}`,
          '    input:',
          line(broken),
          '    expect:',
          '      records_written: 0',
          '      dlq_count: 1',
        ]),
    '',
  ].join('\n');
}

/** JSON is YAML, and keeps every digit. */
function line(record: JsonValue): string {
  return `        - ${stringifyJson(record)}`;
}
