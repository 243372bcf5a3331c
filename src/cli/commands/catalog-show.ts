import type { Catalog } from '../../features/catalog/catalog.ts';
import { AppError } from '../../lib/errors.ts';
import type { DatasetDetail, InferredSchema, SchemaDiff } from '../../wire/catalog.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { CATALOG_OPTIONS, readCatalog } from '../documents/document-catalog.ts';
import { EXIT } from '../framework/exit.ts';
import { count, thousands } from '../../lib/text/count.ts';
import { definitionList, table } from '../render/render.ts';

const PAGE = 1000;
/** `--json` prints all of them. */
const TOLD_VOLUMES = 10;

export const catalogShowCommand = defineCommand({
  name: 'catalog show',
  summary: 'Show one data set: its columns, how they changed, volumes and neighbours.',
  description: 'The id may be shortened as long as it is unique.',
  arguments: [
    { name: 'id', required: true, description: 'Id of the data set, or the start of it.' },
  ],
  options: CATALOG_OPTIONS,
  examples: [
    {
      command: 'headgate catalog show 1ad4',
      description: 'The data set whose id starts with 1ad4',
    },
  ],
  async run(context, { options, positionals: [id = ''] }) {
    const dataset = await readCatalog(context, options, async (catalog) =>
      catalog.get(await wholeId(catalog, id)),
    );
    if (dataset === undefined) throw unknown(id);
    if (options.json) context.terminal.json(dataset);
    else printDataset(context, dataset);
    return EXIT.ok;
  },
});

async function wholeId(catalog: Catalog, start: string): Promise<string> {
  const found: string[] = [];
  for (let cursor: string | undefined, more = true; more;) {
    const page = await catalog.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.datasets.map(({ id }) => id).filter((id) => id.startsWith(start)));
    ({ more } = page);
    cursor = page.datasets.at(-1)?.id;
  }
  const [only] = found;
  if (only === undefined) throw unknown(start);
  if (found.length === 1 || found.includes(start)) return found.includes(start) ? start : only;
  const hint = `write more of it: ${found.slice(0, 5).join(', ')}`;
  throw new AppError(
    'ambiguous_dataset',
    `${count(found.length, 'data set')} begin with \`${start}\``,
    { hint },
  );
}

function unknown(id: string): AppError {
  return new AppError('unknown_dataset', `there is no data set \`${id}\``, {
    hint: 'see `headgate catalog datasets`',
  });
}

function printDataset({ terminal }: CliContext, dataset: DatasetDetail): void {
  terminal.print(terminal.ink('bold', dataset.uri));
  const facts: (readonly [string, string])[] = [
    ['id', dataset.id],
    ['kind', `${dataset.kind}, as ${dataset.roles.join(' and ')}`],
    [
      'runs',
      `${thousands(dataset.runs)}, ${thousands(dataset.total_records)} records in all, ${thousands(dataset.last_records)} the last time`,
    ],
    ['seen', `${dataset.first_seen} to ${dataset.last_seen}, by ${dataset.pipeline}`],
  ];
  for (const line of definitionList(facts)) terminal.print(`  ${line}`);
  const columns = Object.entries(columnsOf(dataset.current_schema)).map(([name, { type }]) => [
    name,
    [type].flat().join(', '),
  ]);
  if (columns.length > 0)
    for (const line of table(['column', 'types'], columns)) terminal.print(`  ${line}`);
  for (const { version, recorded_at, diff } of dataset.schema_timeline) {
    terminal.print(
      `  schema ${version}  ${recorded_at}  ${diff === undefined ? 'first seen' : words(diff)}`,
    );
  }
  const volumes = dataset.stats
    .slice(0, TOLD_VOLUMES)
    .map(({ recorded_at, records }) => [recorded_at, thousands(records)]);
  for (const line of table(['run ended', 'records'], volumes, [1])) terminal.print(`  ${line}`);
  for (const edge of dataset.upstream)
    terminal.print(`  from ${edge.src_uri}  (${edge.pipeline}, ${edge.row})`);
  for (const edge of dataset.downstream)
    terminal.print(`  to   ${edge.dst_uri}  (${edge.pipeline}, ${edge.row})`);
}

/** What this program inferred is of this form. */
function columnsOf(schema: DatasetDetail['current_schema']): InferredSchema['properties'] {
  return (schema as InferredSchema | undefined)?.properties ?? {};
}

function words({ added, widened, changed, removed }: SchemaDiff): string {
  return [
    ...added.map(({ column, to }) => `+${column} ${to}`),
    ...[...widened, ...changed].map(({ column, from, to }) => `${column} ${from} → ${to}`),
    ...removed.map((column) => `-${column}`),
  ].join(', ');
}
