/* Prints `name@version` of optional clients, each in the version that this release was tested with. */
import { readFileSync } from 'node:fs';

const manifest = new URL('package.json', import.meta.url);
const { peerDependencies } = JSON.parse(readFileSync(manifest, 'utf8'));
const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(peerDependencies, name));
if (unknown.length > 0) {
  const known = Object.keys(peerDependencies).join(', ');
  process.stderr.write(`error: no optional client is called ${unknown.join(', ')}\n`);
  process.stderr.write(`hint: one or more of ${known}\n`);
  process.exit(1);
}
process.stdout.write(names.map((name) => `${name}@${peerDependencies[name]}`).join(' '));
