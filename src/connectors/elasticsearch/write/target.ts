/** The index that pages go to: the one of the config, or the one in which an overwrite collects. */
import { randomBytes } from 'node:crypto';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject } from '../../../lib/text/json.ts';
import { step, type Link } from '../link.ts';

const STAGING = '-svc-ovw-';
/** Settings that describe an index and not the one that is there. */
const KEPT = ['number_of_shards', 'number_of_replicas', 'analysis', 'refresh_interval', 'mapping'];

export class Target {
  readonly #link: Link;
  readonly #alias: string;
  readonly #staging: string | undefined;
  #ready: Promise<void> | undefined;
  /** The index that the alias stands for now. */
  #before: string | undefined;

  constructor(link: Link, config: { readonly index: string; readonly write_mode: string }) {
    this.#link = link;
    this.#alias = config.index;
    const suffix = `${Date.now()}-${randomBytes(4).toString('hex')}`;
    this.#staging = config.write_mode === 'overwrite' ? config.index + STAGING + suffix : undefined;
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
    const remove = this.#before === undefined ? [] : [{ remove_index: { index: this.#before } }];
    try {
      const json = { actions: [add, ...remove] };
      await this.#link.ask({ method: 'POST', path: '_aliases', json, isRepeatable: false });
    } catch (error) {
      // The answer may have been lost after the swap was made.
      if (await this.#hasSwapped().catch(() => false)) return;
      if (!(error instanceof ConnectorError) || error.status !== 404) throw error;
      throw takenOver(this.#alias, error);
    }
  }

  async drop(): Promise<void> {
    await this.#link.find({ method: 'DELETE', path: step(this.name) });
  }

  /**
   * When several runs replace the same documents, the last one to start does so: it drops what the
   * others have collected, and what a killed one left.
   */
  async #stage(name: string): Promise<void> {
    const before = await this.#behindAlias();
    const others = await this.#link.find({
      method: 'GET',
      path: `${step(`${this.#alias}${STAGING}*`)}/_alias`,
    });
    for (const [other, told] of Object.entries(others ?? {})) {
      const aliases = isObject(told) ? (told['aliases'] ?? null) : null;
      if (isObject(aliases) && Object.keys(aliases).length === 0)
        await this.#link.find({ method: 'DELETE', path: step(other) });
    }
    const json = before === undefined ? {} : await this.#madeLike(before);
    await this.#make(name, json);
    this.#before = before;
  }

  /** The answer to an attempt that succeeded may have been lost. */
  async #make(name: string, json: JsonObject): Promise<void> {
    try {
      await this.#link.ask({ method: 'PUT', path: step(name), json });
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.status !== 400) throw error;
      const made = await this.#link.find({ method: 'GET', path: `${step(name)}/_alias` });
      if (made === undefined) throw error;
    }
  }

  async #behindAlias(): Promise<string | undefined> {
    const path = `${step(this.#alias)}/_alias`;
    const found = Object.keys((await this.#link.find({ method: 'GET', path })) ?? {});
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
    const path = `${step(this.#alias)}/_alias`;
    const found = Object.keys((await this.#link.find({ method: 'GET', path })) ?? {});
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
