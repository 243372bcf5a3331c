import type { ZodType } from 'zod';
import { suggestion } from '../../lib/text/nearest.ts';
import type { Parts } from '../../kit/parts.ts';
import { jsonSchemaOf } from '../../kit/json-schema.ts';
import type { BlockGrammar } from '../../document/block.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { partNames } from '../framework/offers.ts';
import { switchOption } from '../framework/option.ts';

const KINDS = ['source', 'sink', 'transform', 'state', 'credential'] as const;
type Kind = (typeof KINDS)[number];

export const schemaCommand = defineCommand({
  name: 'schema',
  summary: 'Print the JSON Schema of a connector, a transform or a block.',
  description:
    'Prints JSON Schema (2020-12): of the whole document with the settings of every part (`schema config`), of one block of it (`schema masking`), of spec files and trigger files (`schema test`, `schema triggers`), ' +
    'or of the `config` of one part (`schema source csv`).',
  arguments: [
    {
      name: 'what',
      choices: ['config', ...KINDS],
      offers: async () =>
        (await import('../../blocks/index.ts')).DESCRIBED_BLOCKS.map(({ name }) => name),
      description:
        '`config`, the name of a block, or source, sink, transform, state or credential.',
    },
    {
      name: 'type',
      offers: partNames(({ positionals }) => positionals[0]),
      description: 'Which source, sink, …',
    },
  ],
  options: {
    list: switchOption({ description: 'List everything that has a schema.' }),
  },
  examples: [
    { command: 'headgate schema source csv', description: 'Every field of the CSV source' },
    { command: 'headgate schema --list', description: 'Everything that has a schema' },
  ],
  async run({ terminal, wiring }, { options, positionals: [what, type] }) {
    const parts = await wiring.parts();
    const { DESCRIBED_BLOCKS, GRAMMAR } = await import('../../blocks/index.ts');
    const { fixtureSpec } = await import('../../features/fixtures/spec.ts');
    const { triggerFileSchema } = await import('../../features/triggers/trigger-file.ts');
    const { TRIGGERS } = await import('../../triggers/index.ts');
    const blocks: readonly NamedSchema[] = [
      ...DESCRIBED_BLOCKS,
      { name: 'test', schema: fixtureSpec },
      { name: 'triggers', schema: triggerFileSchema(TRIGGERS) },
    ];
    if (options.list) {
      for (const line of listing(parts, blocks)) terminal.print(line);
      return EXIT.ok;
    }
    if (what === undefined)
      throw usageError(
        'say what to print',
        'for example `headgate schema source csv`, or see `headgate schema --list`',
      );
    if (what === 'config') {
      if (type !== undefined)
        throw usageError(`\`config\` is the whole document: it has no \`${type}\``);
      const { editorSchema } = await import('../../document/editor-schema.ts');
      terminal.json(editorSchema(parts, GRAMMAR));
      return EXIT.ok;
    }
    terminal.json(jsonSchemaOf(schemaFor({ what, type, parts, blocks })));
    return EXIT.ok;
  },
});

/** A block of the document, or another file that has a schema. */
type NamedSchema = Pick<BlockGrammar, 'name' | 'schema'>;

interface Wanted {
  readonly what: string;
  readonly type: string | undefined;
  readonly parts: Parts;
  readonly blocks: readonly NamedSchema[];
}

function schemaFor({ what, type, parts, blocks }: Wanted): ZodType {
  const kind = KINDS.find((one) => one === what);
  // `source` alone is the block `{type, config}`, like every other block.
  if (kind !== undefined && type !== undefined) return partSchema(kind, type, parts);
  const block = blocks.find((one) => one.name === what);
  if (block === undefined && kind !== undefined)
    throw usageError(
      `say which ${kind}`,
      `available: ${registryOf(kind, parts).types().join(', ')}`,
    );
  if (block === undefined)
    throw usageError(
      `nothing with a schema is called \`${what}\``,
      suggestion(what, ['config', ...KINDS, ...blocks.map((one) => one.name)]),
    );
  if (type !== undefined) throw usageError(`\`${what}\` is one block: it has no \`${type}\``);
  return block.schema;
}

function partSchema(kind: Kind, type: string, parts: Parts): ZodType {
  const registry = registryOf(kind, parts);
  const part = registry.get(type);
  if (part === undefined)
    throw usageError(`there is no ${kind} \`${type}\``, registry.suggest(type));
  return part.config;
}

interface SchemaRegistry {
  get(type: string): { readonly config: ZodType } | undefined;
  types(): string[];
  suggest(type: string): string | undefined;
}

function registryOf(kind: Kind, parts: Parts): SchemaRegistry {
  return {
    source: parts.sources,
    sink: parts.sinks,
    transform: parts.transforms,
    state: parts.states,
    credential: parts.credentials,
  }[kind];
}

function listing(parts: Parts, blocks: readonly NamedSchema[]): string[] {
  return [
    'config',
    ...blocks.map((block) => block.name).filter((name) => name !== 'document'),
    ...KINDS.flatMap((kind) =>
      registryOf(kind, parts)
        .types()
        .map((type) => `${kind} ${type}`),
    ),
  ];
}
