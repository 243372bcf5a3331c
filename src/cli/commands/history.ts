import { defineCommand } from '../framework/command.ts';
import { CATALOG_OPTIONS, readCatalog, whichDocument } from '../documents/document-catalog.ts';
import { EXIT } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { integerOption, textOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { thousands } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';

export const historyCommand = defineCommand({
  name: 'history',
  summary: 'List what successful runs of a document wrote, newest first.',
  description:
    'Reads the catalog that the document names. Of each destination the last 500 movements are known; runs that failed are not recorded there.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    limit: integerOption({
      value: 'N',
      min: 1,
      max: 10_000,
      default: 20,
      description: 'Movements to show.',
    }),
    row: textOption({ value: 'ID', offers: rowIds, description: 'Only those of this row.' }),
    ...CATALOG_OPTIONS,
  },
  examples: [
    { command: 'headgate history --row eu --limit 5', description: 'The last five times' },
  ],
  async run(context, { options, positionals: [document] }) {
    const { row, limit } = options;
    const { terminal } = context;
    const past = await readCatalog(context, whichDocument(document, options), (catalog) =>
      catalog.past({ limit, ...(row === undefined ? {} : { row }) }),
    );
    if (options.json) {
      terminal.json({ runs: past.map((one) => ({ ...one })) });
      return EXIT.ok;
    }
    const cells = past.map((one) => [
      one.recorded_at,
      one.pipeline,
      one.row,
      thousands(one.records),
      one.uri,
      one.run_id,
    ]);
    for (const line of table(
      ['ended', 'pipeline', 'row', 'records', 'destination', 'run'],
      cells,
      [3],
    ))
      terminal.print(line);
    if (past.length === 0) terminal.note('nothing is recorded yet');
    return EXIT.ok;
  },
});
