import { resolve } from 'node:path';
import { RunError } from '../lib/errors.ts';

/** The files that invocations of one run replace: a second one would destroy what the first has written. */
export class OutputClaims {
  readonly #owners = new Map<string, string>();
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Throws `RunError` for everyone but the first, who gets the way to give the file back. */
  claim(file: string, row: string): () => void {
    const path = resolve(this.#cwd, file);
    const owner = this.#owners.get(path);
    if (owner !== undefined) {
      const message = `row \`${row}\` would replace the file \`${file}\`, which row \`${owner}\` writes in this run`;
      throw new RunError('Config', 'output_clash', message, { hint: 'give each a file of its own, or let both append' });
    }
    this.#owners.set(path, row);
    return () => this.#owners.delete(path);
  }
}
