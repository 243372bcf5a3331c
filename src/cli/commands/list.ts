import { jsonSchemaOf, type JsonSchema } from '../../kit/json-schema.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { definitionList } from '../render/render.ts';

interface Described {
  readonly type: string;
  readonly description: string;
}

export const listCommand = defineCommand({
  name: 'list',
  summary: 'List the connectors, transforms and state stores of this build.',
  description:
    'Lists what a document can name: sources, sinks, transforms, quality checks, state stores and credentials, one line each.',
  options: {
    json: switchOption({ description: 'Print JSON.' }),
    available: switchOption({
      description: 'Print sources and sinks as one list, by kind and name.',
    }),
  },
  examples: [{ command: 'headgate list', description: 'See what there is' }],
  async run({ terminal, wiring }, { options }) {
    const parts = await wiring.parts();
    const { qualitySchema } = await import('../../blocks/quality/schema.ts');
    const sections: readonly (readonly [string, readonly Described[]])[] = [
      ['sources', parts.sources.all],
      ['sinks', parts.sinks.all],
      ['transforms', parts.transforms.all],
      [
        'quality_checks',
        ['record', 'batch'].flatMap((scope) =>
          variantsOf(jsonSchemaOf(qualitySchema).properties?.[scope]),
        ),
      ],
      ['state_stores', parts.states.all],
      ['credentials', parts.credentials.all],
    ];
    if (options.available) {
      const connectors = [
        ...entries('sink', parts.sinks.all),
        ...entries('source', parts.sources.all),
      ];
      if (options.json) terminal.json({ connectors });
      else
        for (const line of definitionList(
          connectors.map(
            ({ kind, name, description }) => [`${kind} ${name}`, description] as const,
          ),
        ))
          terminal.print(line);
      return EXIT.ok;
    }
    if (options.json) {
      terminal.json(
        Object.fromEntries(
          sections.map(([name, items]) => [
            name,
            name === 'state_stores' ? items.map((item) => item.type) : items.map(named),
          ]),
        ),
      );
      return EXIT.ok;
    }
    for (const [name, items] of sections) {
      terminal.print(terminal.ink('bold', name.replace('_', ' ')));
      for (const line of definitionList(
        items.map((item) => [item.type, item.description] as const),
      ))
        terminal.print(line);
      terminal.print('');
    }
    return EXIT.ok;
  },
});

/** The members of a union that differ by a fixed `type`. */
function variantsOf(list: JsonSchema | undefined): Described[] {
  return (list?.items?.oneOf ?? []).flatMap((one) => {
    const { const: type, description } = one.properties?.['type'] ?? {};
    return typeof type === 'string' && typeof description === 'string'
      ? [{ type, description }]
      : [];
  });
}

function named({ type, description }: Described): { name: string; description: string } {
  return { name: type, description };
}

/** Everything listed is compiled in: there is nothing to install. */
function entries(
  kind: 'source' | 'sink',
  items: readonly Described[],
): { kind: string; name: string; description: string; compiled: boolean }[] {
  return items.map((item) => ({ kind, ...named(item), compiled: true }));
}
