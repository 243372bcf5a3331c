import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  hasField,
  isObject,
  parseJson,
  setField,
  stringifyJson,
  type JsonObject,
} from '../lib/text/json.ts';
import { readRegular } from '../lib/files/regular-file.ts';
import { makeFolder } from '../lib/files/make-folder.ts';

/**
 * Writers of one file in this process run one after the other, so that providers that share it do
 * not lose each other's entries.
 */
const turns = new Map<string, Promise<void>>();

/** A file of refresh tokens by name, readable only by its owner and replaced as a whole. */
export class TokenFile {
  readonly #path: string;
  readonly #entry: string;

  constructor(path: string, entry: string) {
    this.#path = path;
    this.#entry = entry;
  }

  async read(): Promise<string | undefined> {
    const entries = await this.#entries();
    const found = hasField(entries, this.#entry) ? entries[this.#entry] : undefined;
    const token = isObject(found) ? found['refresh_token'] : undefined;
    return typeof token === 'string' && token !== '' ? token : undefined;
  }

  async write(token: string): Promise<void> {
    const before = turns.get(this.#path) ?? Promise.resolve();
    const mine = before.then(() => this.#replace(token));
    // An error only concerns its own writer.
    const settled = mine.catch(() => {});
    turns.set(this.#path, settled);
    try {
      await mine;
    } finally {
      if (turns.get(this.#path) === settled) turns.delete(this.#path);
    }
  }

  async #replace(token: string): Promise<void> {
    const entries = await this.#entries();
    setField(entries, this.#entry, { refresh_token: token });
    await makeFolder(dirname(this.#path));
    const draft = `${this.#path}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(stringifyJson(entries, 2));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, this.#path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async #entries(): Promise<JsonObject> {
    try {
      const content = parseJson((await readRegular(this.#path)).toString('utf8'));
      if (isObject(content)) return content;
      throw new SyntaxError('the file does not hold a mapping');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
      throw error;
    }
  }
}
