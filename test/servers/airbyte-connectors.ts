/** Connectors of Airbyte that need no network, for tests: packages of PyPI. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AIRBYTE_AILAKE_FOLDER, AIRBYTE_FAKER_FOLDER } from './test-servers.ts';

/** Its command and its packages, or why it is not there. */
interface Found {
  readonly command?: readonly string[];
  readonly packages: string;
  readonly reason?: string;
}

export const airbyteFaker = found('airbyte-source-faker', AIRBYTE_FAKER_FOLDER, 'source-faker');

export const airbyteAilake = found(
  'airbyte-destination-ailake',
  AIRBYTE_AILAKE_FOLDER,
  'airbyte-destination-ailake',
);

function found(name: string, packages: string, program: string): Found {
  const path = join(packages, 'bin', program);
  if (existsSync(path))
    return { command: ['/usr/bin/env', `PYTHONPATH=${packages}`, 'python3', path], packages };
  const missing = `no ${name}: run \`node test/servers/install.ts ${name}\``;
  if ((process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',').includes(name))
    throw new Error(`it is required, but there is ${missing}`);
  return { packages, reason: missing };
}
