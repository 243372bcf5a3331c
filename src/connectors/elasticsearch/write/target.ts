/** The index that pages go to: the one of the config, or the one in which an overwrite collects. */
import { takenOverError, type Execution } from '../../../kit/execution.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject } from '../../../lib/text/json.ts';
import { step, type Link } from '../link.ts';
import { isOfLater, isTicket, stagedName, stagedPattern, ticketOf } from './staged.ts';

/** Settings that describe an index and not the one that is there. */
const KEPT = ['number_of_shards', 'number_of_replicas', 'analysis', 'refresh_interval', 'mapping'];

/** It holds nothing. */
const TICKET_SETTINGS = {
  settings: { index: { number_of_shards: 1, number_of_replicas: 0 } },
} as const;

export class Target {
  readonly #link: Link;
  readonly #alias: string;
  readonly #staging: string | undefined;
  readonly #execution: Execution | undefined;
  #scope: string | undefined;
  #ready: Promise<void> | undefined;
  /** The index that the alias stands for now. */
  #before: string | undefined;

  constructor(
    link: Link,
    config: { readonly index: string; readonly write_mode: string },
    execution: Execution | undefined,
  ) {
    const { index, write_mode: mode } = config;
    this.#link = link;
    this.#alias = index;
    this.#execution = execution;
    this.#staging = mode === 'overwrite' ? stagedName(index, execution) : undefined;
  }

  get name(): string {
    return this.#staging ?? this.#alias;
  }

  /** Whether anything has been begun that has to be ended. */
  get isBegun(): boolean {
    return this.#staging !== undefined && this.#ready !== undefined;
  }

  /** Makes what the first page needs; after a failure it is tried again. */
  ready(): Promise<void> {
    if (this.#staging === undefined) return Promise.resolve();
    this.#ready ??= this.#stage(this.#staging).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** Puts the collected documents behind the alias, all at once, and drops the old ones with it. */
  async swap(): Promise<void> {
    await this.ready();
    const add = { add: { index: this.name, alias: this.#alias } };
    const dropped = [ticketOf(this.name), ...(this.#before === undefined ? [] : [this.#before])];
    try {
      const json = { actions: [add, ...dropped.map((index) => ({ remove_index: { index } }))] };
      await this.#link.ask({ method: 'POST', path: '_aliases', json, isRepeatable: false });
    } catch (error) {
      // The answer may have been lost after the swap was made.
      if (await this.#hasSwapped().catch(() => false)) return;
      if (!(error instanceof ConnectorError) || error.status !== 404) throw error;
      await this.tellTaker(error);
      throw takenOver(this.#alias, error);
    }
  }

  /**
   * From now on no earlier execution of the run shows what it has collected, and a later one is not
   * in the way of this.
   */
  async takeScope(scope: string): Promise<void> {
    if (this.#execution === undefined || this.#staging === undefined) return;
    this.#scope = scope;
    await this.ready();
    // The other one may have looked before there was anything of this one to see.
    await this.#dropOthers();
    this.#before = await this.#behindAlias();
  }

  /** Fails as taken over when that is why something is missing. */
  async tellTaker(error: unknown): Promise<void> {
    const isMissing = error instanceof ConnectorError && error.status === 404;
    if (isMissing && this.#scope !== undefined)
      this.#refuseLater(Object.keys(await this.#staged()));
  }

  async drop(): Promise<void> {
    await this.#remove(ticketOf(this.name));
    await this.#remove(this.name);
  }

  /**
   * When several runs replace the same documents, the last one to start does so: it drops what the
   * others have collected, and what a killed one left.
   */
  async #stage(name: string): Promise<void> {
    await this.#dropOthers();
    const before = await this.#behindAlias();
    const json = before === undefined ? {} : await this.#madeLike(before);
    // Nothing is collected whose ticket may still be made.
    await this.#make(ticketOf(name), TICKET_SETTINGS);
    await this.#make(name, json);
    this.#before = before;
  }

  async #dropOthers(): Promise<void> {
    const own = [this.name, ticketOf(this.name)];
    const others = Object.keys(await this.#staged()).filter((name) => !own.includes(name));
    this.#refuseLater(others);
    for (const name of others.filter(isTicket)) await this.#remove(name);
    for (const name of others) {
      if (isTicket(name)) continue;
      await this.#remove(ticketOf(name));
      // Without its ticket it stays what it is now.
      const told = (await this.#aliasesOf(name))?.[name] ?? null;
      const aliases = isObject(told) ? (told['aliases'] ?? null) : null;
      if (isObject(aliases) && Object.keys(aliases).length === 0) await this.#remove(name);
    }
  }

  #refuseLater(names: readonly string[]): void {
    const execution = this.#execution;
    if (execution === undefined || !names.some((name) => isOfLater(name, execution))) return;
    throw takenOverError(this.#scope ?? this.#alias);
  }

  async #staged(): Promise<JsonObject> {
    return (await this.#aliasesOf(stagedPattern(this.#alias))) ?? {};
  }

  #aliasesOf(name: string): Promise<JsonObject | undefined> {
    return this.#link.find({ method: 'GET', path: `${step(name)}/_alias` });
  }

  async #remove(name: string): Promise<void> {
    await this.#link.find({ method: 'DELETE', path: step(name) });
  }

  /** The answer to an attempt that succeeded may have been lost. */
  async #make(name: string, json: JsonObject): Promise<void> {
    try {
      await this.#link.ask({ method: 'PUT', path: step(name), json });
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.status !== 400) throw error;
      const made = await this.#aliasesOf(name);
      if (made === undefined) throw error;
    }
  }

  async #behindAlias(): Promise<string | undefined> {
    const found = Object.keys((await this.#aliasesOf(this.#alias)) ?? {});
    const [only] = found;
    if (only === this.#alias)
      throw new ConnectorError(
        'refused',
        `\`${only}\` is an index, which cannot be replaced at once`,
        {
          hint: 'name an alias, or a name that is free, which becomes one',
        },
      );
    if (found.length > 1)
      throw new ConnectorError(
        'refused',
        `the alias \`${this.#alias}\` stands for several indexes`,
        {
          hint: 'name an alias of one index',
        },
      );
    return only;
  }

  async #hasSwapped(): Promise<boolean> {
    const found = Object.keys((await this.#aliasesOf(this.#alias)) ?? {});
    return found.length === 1 && found[0] === this.name;
  }

  async #madeLike(index: string): Promise<JsonObject> {
    const found = await this.#link.ask({ method: 'GET', path: step(index) });
    const told = found[index] ?? null;
    const { mappings = {}, settings = {} } = isObject(told) ? told : {};
    const own = isObject(settings) && isObject(settings['index'] ?? null) ? settings['index'] : {};
    const kept = Object.entries(own as JsonObject).filter(([name]) => KEPT.includes(name));
    return { mappings, settings: { index: Object.fromEntries(kept) } };
  }
}

function takenOver(alias: string, cause: unknown): ConnectorError {
  return new ConnectorError(
    'refused',
    `another run has started to replace the documents of \`${alias}\`, so this run stops`,
    { hint: 'run them one after the other', cause },
  );
}
