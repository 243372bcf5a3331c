/** The document that `init` writes: commented, and for the default parts it runs as it is. */
import type { ZodType } from 'zod';
import { stringify } from 'yaml';
import { isObject, type JsonObject } from '../lib/text/json.ts';
import { jsonSchemaOf } from '../kit/json-schema.ts';

/** A part to start from: a source or a sink definition. */
export interface StarterPart {
  readonly type: string;
  readonly description: string;
  readonly config: ZodType;
  readonly examples: readonly JsonObject[];
}

export interface Starter {
  readonly document: string;
  /** Input the document reads, for parts that need some. */
  readonly sample?: { readonly path: string; readonly text: string };
}

const SAMPLE_PATH = 'people.csv';
const SAMPLE = `id,name,city,age
1,Ada,London,36
2,Edsger,Rotterdam,72
3,Grace,New York,85
4,Alan,London,41
`;

export function starterOf(name: string, source: StarterPart, sink: StarterPart): Starter {
  const runsAsIs = source.type === 'csv' && sink.type === 'jsonl';
  const document = [
    runsAsIs
      ? '# A first Headgate document. It runs as it is: `headgate run`.'
      : '# A first Headgate document. Fill in the settings, then `headgate validate`.',
    'version: 1',
    `name: ${stringify(name).trim()}`,
    '',
    'pipeline:',
    `  # ${source.description} Every field: \`headgate schema source ${source.type}\`.`,
    '  source:',
    `    type: ${source.type}`,
    ...configLines(source, runsAsIs ? { path: SAMPLE_PATH } : undefined),
    '',
    ...(runsAsIs ? SAMPLE_TRANSFORMS : TRANSFORMS),
    '',
    ...OPTIONAL_BLOCKS,
    '',
    `  # ${sink.description} Every field: \`headgate schema sink ${sink.type}\`.`,
    '  sink:',
    `    type: ${sink.type}`,
    ...configLines(sink, runsAsIs ? { path: 'people.jsonl' } : undefined),
    '',
  ].join('\n');
  return runsAsIs ? { document, sample: { path: SAMPLE_PATH, text: SAMPLE } } : { document };
}

const SAMPLE_TRANSFORMS = [
  '  # What happens to every record, in this order. `headgate list` shows all transforms.',
  '  transforms:',
  '    - type: cast # a CSV cell is text',
  '      config:',
  '        fields: { id: int, age: int }',
  '    - type: rename_field',
  '      config:',
  '        fields: { city: home }',
];

const TRANSFORMS = [
  '  # What happens to every record, in this order. `headgate list` shows all transforms.',
  '  # transforms:',
  '  #   - type: rename_field',
  '  #     config:',
  '  #       fields: { old_name: new_name }',
];

const OPTIONAL_BLOCKS = [
  '  # Remembers how far each run came, so that the next one goes on from there.',
  '  # state:',
  '  #   type: file',
  '  #   config: { path: .headgate/state }',
  '',
  '  # Takes the records that cannot be written, with the reason beside each; without it the first one fails the run.',
  '  # dlq:',
  '  #   sink:',
  '  #     type: jsonl',
  '  #     config: { path: rejected.jsonl }',
];

/** The first example of the part, each field under its description. */
function configLines(part: StarterPart, config: JsonObject | undefined): string[] {
  const values = config ?? part.examples[0] ?? {};
  const fields = Object.entries(values);
  if (fields.length === 0) return ['    config: {}'];
  const properties = jsonSchemaOf(part.config).properties ?? {};
  const lines = fields.flatMap(([key, value]) => {
    const about: unknown = isObject(properties[key]) ? properties[key]['description'] : undefined;
    const written = stringify({ [key]: value }, { lineWidth: 0 })
      .trimEnd()
      .split('\n');
    return [
      ...(typeof about === 'string' && config === undefined ? [`# ${about}`] : []),
      ...written,
    ];
  });
  return ['    config:', ...lines.map((line) => `      ${line}`)];
}
