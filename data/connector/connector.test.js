import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { connector } from './index.js';

test('the examples are valid configs', () => {
  for (const { config, examples } of [connector.source, connector.sink].filter(Boolean))
    for (const example of examples) assert.ok(config.safeParse(example).success);
});

test('the connector keeps the contract of sources and sinks', () => {
  const { status, stdout, stderr, error } = spawnSync('headgate', ['conformance', '.'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${error ?? ''}${stdout ?? ''}${stderr ?? ''}`);
});
