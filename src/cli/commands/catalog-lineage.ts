import { DEFAULT_DEPTH, MAX_DEPTH } from '../../features/catalog/depth.ts';
import { defineCommand } from '../framework/command.ts';
import { CATALOG_OPTIONS, readCatalog } from '../documents/document-catalog.ts';
import { EXIT } from '../framework/exit.ts';
import { integerOption, textOption } from '../framework/option.ts';

export const catalogLineageCommand = defineCommand({
  name: 'catalog lineage',
  summary: 'Show which data set was made from which.',
  description:
    'Prints the lineage graph from the catalog of a document: all of it, or the part around one data set, in both directions.',
  options: {
    root: textOption({ value: 'ID', description: 'Start from this data set.' }),
    depth: integerOption({
      value: 'N',
      min: 1,
      max: MAX_DEPTH,
      default: DEFAULT_DEPTH,
      description: 'Steps from the root.',
    }),
    ...CATALOG_OPTIONS,
  },
  examples: [
    { command: 'headgate catalog lineage --json', description: 'The graph, for a program' },
  ],
  async run(context, { options }) {
    const { root, depth } = options;
    const { terminal } = context;
    const edges = await readCatalog(context, options, (catalog) =>
      catalog.lineage({ depth, ...(root === undefined ? {} : { root }) }),
    );
    if (options.json) {
      terminal.json({ edges: [...edges] });
      return EXIT.ok;
    }
    for (const edge of edges) {
      terminal.print(
        `${edge.src_uri} → ${edge.dst_uri}  ${terminal.ink('dim', `${edge.pipeline}, ${edge.row}, ${edge.last_seen}`)}`,
      );
      for (const [column, from] of Object.entries(edge.column_lineage?.fields ?? {}))
        terminal.print(`    ${from.join(', ')} → ${column}`);
    }
    if (edges.length === 0) terminal.note('nothing is recorded yet');
    return EXIT.ok;
  },
});
