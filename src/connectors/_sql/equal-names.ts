import { ConnectorError } from '../../lib/errors.ts';

/** A record has one value for each name: the values of the other columns would be lost. */
export function refuseEqualNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (!seen.has(name)) {
      seen.add(name);
      continue;
    }
    const message = `the query gives two columns called ${JSON.stringify(name)}`;
    throw new ConnectorError('data', message, {
      hint: 'give one of them another name with `AS`',
    });
  }
}
