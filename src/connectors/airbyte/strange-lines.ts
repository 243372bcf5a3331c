import { ConnectorError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';

interface Config {
  readonly command: readonly string[];
  readonly on_malformed: 'skip' | 'fail';
}

/** Lines of a connector that are no messages: they end the run, or are counted. */
export class StrangeLines {
  readonly #config: Config;
  count = 0;

  constructor(config: Config) {
    this.#config = config;
  }

  add(line: number): void {
    this.count += 1;
    if (this.#config.on_malformed === 'skip') return;
    throw new ConnectorError(
      'data',
      `line ${line} of \`${this.#config.command[0]}\` is no message of the Airbyte protocol`,
      { hint: 'correct the connector, or set `on_malformed: skip`' },
    );
  }

  tell(log: Pick<Log, 'warn'>): void {
    if (this.count === 0) return;
    log.warn('lines of the connector that are no messages were left out', {
      program: this.#config.command[0],
      lines: this.count,
    });
  }
}
