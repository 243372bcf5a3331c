import { resolve } from 'node:path';
import { RunError } from '../lib/errors.ts';
import { withWholePath } from './observe/dataset-uri.ts';

/** The files and tables that invocations of one run replace: a second one would destroy what the first has written. */
export class OutputClaims {
  readonly #owners = new Map<string, string>();
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Throws `RunError` for everyone but the first, who gets the way to give the file back. */
  claim(output: string, row: string): () => void {
    const place = output.includes('://') ? withWholePath(output, this.#cwd) : resolve(this.#cwd, output);
    const owner = this.#owners.get(place);
    if (owner !== undefined) {
      const message = `row \`${row}\` would replace \`${output}\`, which row \`${owner}\` writes in this run`;
      throw new RunError('Config', 'output_clash', message, { hint: 'give each a file of its own, or let both append' });
    }
    this.#owners.set(place, row);
    return () => this.#owners.delete(place);
  }
}
