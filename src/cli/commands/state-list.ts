import type {
  DocumentState,
  RowState,
  StoredValue,
} from '../../features/bookmarks/list-bookmarks.ts';
import { count } from '../../lib/text/count.ts';
import { isObject, jsonText } from '../../lib/text/json.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { table } from '../render/render.ts';
import { ago, foundState, STATE_OPTIONS } from './state-options.ts';

export const stateListCommand = defineCommand({
  name: 'state list',
  summary: 'Show where the next run of each row goes on.',
  description:
    'Prints the bookmark of every row: the position from which its next run reads, and when it was stored. ' +
    'A row that runs once for each record of its parent, each chunk or each shard has one bookmark for each. Nothing is changed.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    all: switchOption({
      description:
        'Also list what is stored for freshness checks, rollbacks, backfills and replication, and what belongs to no row of the document.',
    }),
    ...STATE_OPTIONS,
  },
  examples: [
    { command: 'headgate state list orders.yaml', description: 'Where every row stands' },
    {
      command: 'headgate state list orders.yaml --row orders --output json',
      description: 'One row, for a script',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const state = await foundState(context, { config, options });
    if (state !== undefined) print(context, state.found, { all: options.all, now: state.now });
    return EXIT.ok;
  },
});

const MOST_LETTERS = 60;

function print(
  { terminal }: CliContext,
  { rows, others }: DocumentState,
  { all, now }: { readonly all: boolean; readonly now: Date },
): void {
  const cells = rows.flatMap((one) => cellsOf(one, now));
  for (const line of table(['row', 'part', 'bookmark', 'stored'], cells)) terminal.print(line);
  if (others.length === 0) return;
  if (!all)
    return terminal.note(
      `${count(others.length, 'other value')} stored for this document: \`--all\` lists them`,
    );
  terminal.print('');
  const rest = others.map(({ kind, key, value, at }) => [kind, key, short(value), ago(at, now)]);
  for (const line of table(['what', 'key', 'value', 'stored'], rest)) terminal.print(line);
}

function cellsOf({ row, bookmarks }: RowState, now: Date): string[][] {
  if (row.state === undefined)
    return [[row.id, '', 'no state store: every run reads from the beginning', '']];
  if (bookmarks.length === 0)
    return [[row.id, '', 'nothing yet: the next run reads from the beginning', '']];
  return bookmarks.map(({ part = '', isCut, bookmark, at }) => [
    row.id,
    isCut === true ? `${part} (cut)` : part,
    short(plain(bookmark)),
    ago(at, now),
  ]);
}

/** A position of an incremental read is its value; the records seen with it are for the source. */
function plain(bookmark: StoredValue['bookmark']): StoredValue['bookmark'] {
  if (!isObject(bookmark) || !Array.isArray(bookmark['seen'])) return bookmark;
  return bookmark['value'] ?? bookmark;
}

function short(value: StoredValue['bookmark']): string {
  const text = jsonText(value);
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}
