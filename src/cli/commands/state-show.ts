import { stringifyJson } from '../../lib/text/json.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT } from '../framework/exit.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { ago, foundState, STATE_OPTIONS } from './state-options.ts';

export const stateShowCommand = defineCommand({
  name: 'state show',
  summary: 'Show the bookmarks of a document as they are stored.',
  description:
    'Prints every bookmark whole, with its key in the state store. Of a row that delivers exactly once, `commit` is the number of pages that its destination had committed.',
  arguments: [CONFIG_ARGUMENT],
  options: STATE_OPTIONS,
  examples: [
    {
      command: 'headgate state show orders.yaml --row orders',
      description: 'Where one row stands, whole',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const state = await foundState(context, { config, options });
    if (state === undefined) return EXIT.ok;
    const { found, now } = state;
    const { terminal } = context;
    for (const { row, bookmarks } of found.rows) {
      if (bookmarks.length === 0) terminal.print(`${terminal.ink('bold', row.id)}  nothing stored`);
      for (const { key, bookmark, commit, at } of bookmarks) {
        const commits = commit === undefined ? '' : `, commit ${commit}`;
        const when = at === undefined ? ago(at, now) : `${at.toISOString()}, ${ago(at, now)}`;
        terminal.print(`${terminal.ink('bold', key)}  ${row.state?.type}${commits}, ${when}`);
        terminal.print(stringifyJson(bookmark, 2).replaceAll(/^/gm, '  '));
      }
    }
    return EXIT.ok;
  },
});
