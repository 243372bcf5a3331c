/** Whether the kit has all that a connector of ours is made of, without starting the program. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onTestFinished, test } from 'vitest';
import { packConnector } from './support/pack-connector.ts';

const KIT = pathToFileURL(resolve(import.meta.dirname, '../src/kit/index.ts')).href;

test('the connector for JSON Lines and its fixtures take nothing of the program but the kit', async () => {
  const project = mkdtempSync(join(tmpdir(), 'packed-connector-'));
  onTestFinished(() => rmSync(project, { recursive: true }));
  const name = 'json-lines';
  await packConnector(project, { name, folder: 'jsonl', source: 'jsonlSource', sink: 'jsonlSink' });
  const headgate = join(project, 'node_modules/headgate');
  mkdirSync(headgate);
  const manifest = { name: 'headgate', type: 'module', exports: { './kit': './kit.js' } };
  writeFileSync(join(headgate, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(headgate, 'kit.js'), `export * from '${KIT}';`);
  // A name that the kit lacks is an error of loading.
  for (const file of ['index.js', 'conformance.js'])
    await import(pathToFileURL(join(project, 'node_modules', name, file)).href);
});
