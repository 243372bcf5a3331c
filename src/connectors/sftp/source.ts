import { posix } from 'node:path';
import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { optional, text, finding } from '../../kit/schema.ts';
import { defineSource } from '../../kit/source.ts';
import { sourceOfObjects } from '../_objects/object-source.ts';
import { checkReading, readingFields, type ObjectReading } from '../_objects/source-fields.ts';
import { nameShape } from './name-shape.ts';
import {
  checkLogin,
  folderOf,
  openFiles,
  sftpAddress,
  sftpFields,
  tolerant,
  withJsonl,
  type SftpConfig,
} from './place.ts';

const fields = z.lazy(() => {
  const { file_format: format, object_keys: _keys, ...reading } = readingFields();
  return z
    .strictObject({
      ...sftpFields(),
      path: text().meta({
        description:
          'Folder whose files are read, or one file; relative paths start at the home folder of the user. `{field}` stands for a value of the parent record.',
        examples: ['/outgoing'],
      }),
      glob: optional(text()).meta({
        description: 'Which files of the folder to read, by their names: `*` and `?`.',
        examples: ['orders-*.jsonl'],
      }),
      format: withJsonl(format).meta({
        description:
          'Format of every file; `auto` goes by the extension of each, and `jsonl` is the same as `json_lines`. `orc` is not available in this version.',
      }),
      ...reading,
      pattern: optional(text()).meta({
        description:
          'Which files to read, also in folders below, by what their paths have behind `path`: a pattern with `*`, `**`, `?`, `[…]` and `{a,b}`.',
        examples: ['**/*.csv'],
      }),
    })
    .superRefine((value, ctx) => {
      checkLogin(value, ctx);
      checkReading(readingOf(value), ctx, 'format');
      if (value.glob !== undefined && value.pattern !== undefined)
        ctx.addIssue(
          finding('invalid_value', 'one of `glob` and `pattern` says which files are read', {
            path: ['glob'],
          }),
        );
    });
});

const config = z.lazy(() => tolerant(otherName('file_format', 'format', fields)));

type SftpSourceConfig = z.output<typeof fields>;

type SftpReadingConfig = ObjectReading & SftpConfig & { readonly glob?: string | undefined };

function readingOf(value: SftpSourceConfig): SftpReadingConfig {
  const { format: told, ...rest } = value;
  return {
    ...rest,
    file_format: told,
    object_keys: undefined,
    prefix: folderOf(value.path),
    verify_length: true,
    verify_checksum: false,
  };
}

const objects = sourceOfObjects<SftpReadingConfig>({
  openStore: (value, context) => {
    const { glob } = value;
    const shape = glob === undefined ? undefined : nameShape(posix.basename(glob));
    return openFiles(value, context, {
      isDeep: value.pattern !== undefined,
      matches: (name) => shape === undefined || shape.test(name),
    });
  },
  origin: (key) => ({ path: key }),
  patchForKey: (key) => ({ path: key }),
  patchForPrefix: (prefix) => ({ path: prefix }),
});

export const sftpSource = defineSource<SftpSourceConfig>({
  type: 'sftp',
  description: 'Reads files of an SFTP server, in all formats of files.',
  config,
  examples: [
    {
      host: 'sftp.example.com',
      username: 'loader',
      type: 'password',
      config: { password: 'secret' },
      path: '/outgoing',
      glob: 'orders-*.jsonl',
    },
    {
      host: 'sftp.example.com',
      username: 'loader',
      type: 'private_key',
      config: { path: 'keys/id_ed25519' },
      known_hosts: { mode: 'strict', known_hosts_path: 'keys/known_hosts' },
      path: 'drop',
      format: 'csv',
      incremental: { by: 'mtime' },
    },
  ],
  concurrencyKeys: ['concurrency'],
  datasetUri: (value) => sftpAddress(value) + posix.normalize(value.path),
  capabilities: (value) => objects.capabilities(readingOf(value)),
  quarantines: (value) => objects.quarantines?.(readingOf(value)) ?? false,
  reread: (value, rejected) => objects.reread?.(readingOf(value), rejected),
  declares: (value) => objects.declares?.(readingOf(value)),
  infersTypes: (value) => objects.infersTypes?.(readingOf(value)) ?? false,
  open: (value, context) => objects.open(readingOf(value), context),
  discover: (value, context) =>
    objects.discover?.(readingOf(value), context) ?? Promise.resolve([]),
});
