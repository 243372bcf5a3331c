/** A source of Airbyte that needs no network, for tests: a package of PyPI. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AIRBYTE_FAKER_FOLDER } from './test-servers.ts';

const MISSING = 'no airbyte-source-faker: run `node test/servers/install.ts airbyte-source-faker`';

/** Its command, or why it is not there. */
export const airbyteFaker: { readonly command?: readonly string[]; readonly reason?: string } =
  found();

function found(): typeof airbyteFaker {
  if (existsSync(join(AIRBYTE_FAKER_FOLDER, 'source_faker')))
    return {
      command: [
        '/usr/bin/env',
        `PYTHONPATH=${AIRBYTE_FAKER_FOLDER}`,
        'python3',
        join(AIRBYTE_FAKER_FOLDER, 'bin/source-faker'),
      ],
    };
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('airbyte-source-faker'))
    throw new Error(`it is required, but there is ${MISSING}`);
  return { reason: MISSING };
}
