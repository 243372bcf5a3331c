/** Rows as JSON behind an INSERT. */
import { outputId } from '../../../kit/output-id.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { ServerFacts, Settings } from '../link.ts';
import { backticked, tableName } from '../types/quote.ts';
import { dedupSettings, readingSettings, type Loader, type Loading, type Rows } from './loading.ts';

export class InsertLoader implements Loader {
  readonly #loading: Loading;
  #inserts = 0;

  constructor(loading: Loading) {
    this.#loading = loading;
    const { config, facts } = loading;
    if (config.async_insert && !facts.takes('async_insert'))
      throw new ConnectorError(
        'refused',
        `the server (${facts.version}) does not take \`async_insert\` from this user`,
        { hint: 'remove `async_insert`, or let the user change this setting' },
      );
  }

  async load({ columns, lines }: Rows): Promise<void> {
    const { config, link } = this.#loading;
    this.#inserts += 1;
    const names = columns.map(({ name }) => backticked(name)).join(', ');
    const head = `INSERT INTO ${tableName(config.table)} (${names}) FORMAT JSONEachRow\n`;
    const settings = this.#settings(lines.length);
    await link.run({ text: head + lines.join('\n'), settings, isRepeatable: false });
  }

  #settings(rows: number): Settings {
    const { config, facts, context } = this.#loading;
    const { async_insert: isAsync, wait_for_async_insert: waits } = config;
    return {
      ...readingSettings(facts),
      ...dedupSettings(facts, `${outputId(context)}-${this.#inserts}`),
      ...asyncSettings(facts, { isAsync, waits }),
      ...(rows > USUAL_BLOCK && facts.takes('max_insert_block_size') ? oneBlock(rows, facts) : {}),
    };
  }
}

/** Newer servers collect unless they are told not to. */
function asyncSettings(
  facts: ServerFacts,
  { isAsync, waits }: { readonly isAsync: boolean; readonly waits: boolean },
): Settings {
  if (isAsync) return { async_insert: 1, wait_for_async_insert: waits ? 1 : 0 };
  return facts.takes('async_insert') ? { async_insert: 0 } : {};
}

/** Rows that a server takes as one block, which is stored whole or not at all. */
const USUAL_BLOCK = 1_000_000;

function oneBlock(rows: number, facts: ServerFacts): Settings {
  return {
    max_insert_block_size: rows,
    ...(facts.takes('input_format_parallel_parsing') ? { input_format_parallel_parsing: 0 } : {}),
  };
}
