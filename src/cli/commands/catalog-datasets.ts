import { defineCommand } from '../framework/command.ts';
import { CATALOG_OPTIONS, readCatalog } from '../documents/document-catalog.ts';
import { EXIT } from '../framework/exit.ts';
import { integerOption, textOption } from '../framework/option.ts';
import { thousands } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';

export const catalogDatasetsCommand = defineCommand({
  name: 'catalog datasets',
  summary: 'List the data sets that runs of a document read and wrote.',
  description:
    'Reads the catalog that the document names, last seen first. Only successful runs are recorded there; dry and limited runs are not.',
  options: {
    kind: textOption({ value: 'KIND', description: 'Only data sets of this connector.' }),
    q: textOption({
      value: 'TEXT',
      description:
        'Only data sets whose address contains this text; upper and lower case count as equal.',
    }),
    limit: integerOption({
      value: 'N',
      min: 1,
      max: 1000,
      default: 100,
      description: 'Data sets to show.',
    }),
    ...CATALOG_OPTIONS,
  },
  examples: [
    {
      command: 'headgate catalog datasets --q orders',
      description: 'Data sets with orders in their address',
    },
  ],
  async run(context, { options }) {
    const { kind, q, limit } = options;
    const { terminal } = context;
    const filter = { ...(kind === undefined ? {} : { kind }), ...(q === undefined ? {} : { q }) };
    const { datasets, more } = await readCatalog(context, options, (catalog) =>
      catalog.list({ ...filter, limit }),
    );
    if (options.json) {
      terminal.json({ datasets, next_cursor: more ? (datasets.at(-1)?.id ?? null) : null });
      return EXIT.ok;
    }
    const cells = datasets.map((one) => [
      one.id,
      one.roles.join('+'),
      thousands(one.last_records),
      thousands(one.runs),
      one.last_seen,
      one.uri,
    ]);
    for (const line of table(
      ['id', 'roles', 'last records', 'runs', 'last seen', 'address'],
      cells,
      [2, 3],
    ))
      terminal.print(line);
    if (datasets.length === 0) terminal.note('nothing is recorded yet');
    if (more) terminal.note(`there are more; see them with \`--limit\``);
    return EXIT.ok;
  },
});
