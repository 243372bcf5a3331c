import { resolve } from 'node:path';
import { partsMeet, type ReplacedOutput } from '../../kit/sink.ts';
import { RunError } from '../../lib/errors.ts';
import { withWholePath } from '../observe/dataset-uri.ts';

interface Claim {
  readonly place: string;
  readonly replaced: ReplacedOutput;
  readonly owner: string;
}

/**
 * The files and tables that invocations of one run replace: a second one would destroy what the
 * first has written.
 */
export class OutputClaims {
  readonly #claims = new Set<Claim>();
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Throws `RunError` for everyone but the first, who gets the way to give the file back. */
  claim(replaced: ReplacedOutput, row: string): () => void {
    const { output, part } = replaced;
    const place = output.includes('://')
      ? withWholePath(output, this.#cwd)
      : resolve(this.#cwd, output);
    const other = [...this.#claims].find(
      (one) => one.place === place && partsMeet(one.replaced, replaced),
    );
    if (other !== undefined) {
      const name = part === undefined ? output : `${output}, ${part}`;
      const message = `row \`${row}\` would replace \`${name}\`, which row \`${other.owner}\` writes in this run`;
      throw new RunError('Config', 'output_clash', message, {
        hint: 'give each a file of its own, or let both append',
      });
    }
    const claim = { place, replaced, owner: row };
    this.#claims.add(claim);
    return () => this.#claims.delete(claim);
  }
}
