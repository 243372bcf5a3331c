import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KIT_VERSION } from '../../kit/connector.ts';
import { isPackageName } from '../../kit/part-packages.ts';
import { AppError } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { packageFolder } from '../../lib/files/program-file.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';

type Role = 'source' | 'sink';

export const newConnectorCommand = defineCommand({
  name: 'new connector',
  summary: 'Write a connector to start from.',
  description:
    'Writes a folder with the package of a connector: its source and its sink, how to try them, a test and a README. ' +
    'It works as it is, and `headgate conformance` says so; replace what reads and writes files by what your system needs.',
  arguments: [
    {
      name: 'name',
      required: true,
      description: 'Name of the package, such as `our-erp` or `@acme/our-erp`.',
    },
  ],
  options: {
    source: switchOption({ description: 'Only a source.' }),
    sink: switchOption({ description: 'Only a sink.' }),
  },
  examples: [
    {
      command: 'headgate new connector our-erp && headgate conformance ./our-erp',
      description: 'From nothing to a connector that keeps the contract',
    },
  ],
  async run({ terminal, wiring, world }, { options, positionals: [name = ''] }) {
    const type = name.split('/').at(-1) ?? name;
    if (!isPackageName(name) || !/^[a-z][a-z0-9_-]*$/.test(type))
      throw usageError(
        `${JSON.stringify(name)} cannot be the name of a connector`,
        'use small letters, digits and `-`, such as `our-erp` or `@acme/our-erp`',
      );
    const folder = path.join(world.cwd, type);
    if (existsSync(folder))
      throw new AppError('file_exists', `\`${type}\` exists and is left alone`, {
        hint: 'choose another name, or remove the folder',
      });
    await makeFolder(folder);
    const files = filesOf({ name, type, roles: rolesOf(options), version: wiring.version });
    for (const [file, content] of files) await writeFile(path.join(folder, file), content);
    terminal.note(`wrote ${files.map(([file]) => `${type}/${file}`).join(', ')}`);
    terminal.note(`next: \`headgate conformance ./${type}\``);
    return EXIT.ok;
  },
});

function rolesOf({ source, sink }: { source: boolean; sink: boolean }): readonly Role[] {
  if (source === sink) return ['source', 'sink'];
  return source ? ['source'] : ['sink'];
}

interface NewConnector {
  readonly name: string;
  /** The last part of its name. */
  readonly type: string;
  readonly roles: readonly Role[];
  readonly version: string;
}

function filesOf(made: NewConnector): readonly (readonly [string, string])[] {
  const { name, type, roles } = made;
  const outside = `npm:${name}`;
  const template = (file: string): readonly [string, string] => [
    file,
    readFileSync(path.join(packageFolder(), 'data/connector', file), 'utf8')
      .replaceAll('CONNECTOR', type)
      .replaceAll('PACKAGE', name)
      .replaceAll('SOURCE', roles.includes('source') ? `'${outside}'` : 'jsonl')
      .replaceAll('SINK', roles.includes('sink') ? `'${outside}'` : 'jsonl'),
  ];
  return [
    ['package.json', manifestOf(made)],
    ['index.js', mainModule(roles)],
    ...roles.map((role) => template(`${role}.js`)),
    ['conformance.js', conformanceModule(roles)],
    ...roles.map((role) => template(`conformance-${role}.js`)),
    template('connector.test.js'),
    template('README.md'),
  ];
}

function manifestOf({ name, roles, version }: NewConnector): string {
  const manifest = {
    name,
    version: '0.1.0',
    description: 'A connector for Headgate.',
    keywords: ['headgate-connector'],
    type: 'module',
    exports: { '.': './index.js', './conformance': './conformance.js' },
    files: [
      'index.js',
      'conformance.js',
      ...roles.flatMap((role) => [`${role}.js`, `conformance-${role}.js`]),
    ],
    scripts: { test: 'node --test' },
    peerDependencies: { headgate: `>=${version}` },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function mainModule(roles: readonly Role[]): string {
  return [
    "import { defineConnector } from 'headgate/kit';",
    ...roles.map((role) => `import { ${role} } from './${role}.js';`),
    '',
    '// `kit` is the version of `headgate/kit` that it is written for.',
    `export const connector = defineConnector({ kit: ${KIT_VERSION}, ${roles.join(', ')} });`,
    '',
  ].join('\n');
}

function conformanceModule(roles: readonly Role[]): string {
  return [
    '// What `headgate conformance` tries the connector with.',
    ...roles.map((role) => `export { ${role}Fixtures } from './conformance-${role}.js';`),
    '',
  ].join('\n');
}
