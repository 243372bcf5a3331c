import { posix } from 'node:path';
import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { text } from '../../kit/schema.ts';
import { defineSink } from '../../kit/sink.ts';
import { sinkOfObjects } from '../_objects/object-sink.ts';
import {
  checkWriting,
  keyPattern,
  writingFields,
  type ObjectWriting,
} from '../_objects/sink-fields.ts';
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
  const { path: _path, mode: _mode, format, ...writing } = writingFields();
  return z
    .strictObject({
      ...sftpFields(),
      path: text().meta({
        description:
          'Folder that the files go into, which is made if it is not there; relative paths start at the home folder of the user.',
        examples: ['/incoming/orders'],
      }),
      format: withJsonl(format).meta({
        description:
          'Format of the files; `auto` goes by `file_extension`, and `jsonl` is the same as `json_lines`. `orc` is not available in this version.',
      }),
      ...writing,
    })
    .superRefine((value, ctx) => {
      checkLogin(value, ctx);
      checkWriting(writingOf(value), ctx);
    });
});

const config = z.lazy(() => tolerant(otherName('file_format', 'format', fields)));

type SftpSinkConfig = z.output<typeof fields>;

interface SftpWritingConfig extends Omit<ObjectWriting, 'path'> {
  readonly path: undefined;
  readonly place: SftpConfig;
}

/** Each run makes files of its own in the folder. */
function writingOf(value: SftpSinkConfig): SftpWritingConfig {
  return {
    ...value,
    mode: 'overwrite',
    path: undefined,
    prefix: folderOf(value.path),
    place: value,
  };
}

const objects = sinkOfObjects<SftpWritingConfig>({
  openStore: ({ place }, context) => openFiles(place, context),
  address: ({ place }, prefix) => sftpAddress(place) + prefix,
});

export const sftpSink = defineSink<SftpSinkConfig>({
  type: 'sftp',
  description:
    'Writes files of an SFTP server, in all formats of files; they appear whole, when the run has succeeded.',
  config,
  examples: [
    {
      host: 'sftp.example.com',
      username: 'loader',
      type: 'password',
      config: { password: 'secret' },
      path: '/incoming/orders',
    },
    {
      host: 'sftp.example.com',
      port: 2222,
      username: 'loader',
      type: 'private_key',
      config: { path: 'keys/id_ed25519', passphrase: 'secret' },
      known_hosts: { mode: 'strict', known_hosts_path: 'keys/known_hosts' },
      path: 'incoming',
      format: 'csv',
      file_extension: '.csv.gz',
      write_mode: 'overwrite',
    },
  ],
  concurrencyKeys: ['concurrency'],
  datasetUri: (value) => sftpAddress(value) + posix.normalize(value.path),
  capabilities: (value) => objects.capabilities(writingOf(value)),
  place: (value) => sftpAddress(value) + keyPattern(writingOf(value), { own: '*' }),
  open: (value, context) => objects.open(writingOf(value), context),
  probe: (value, context) => objects.probe?.(writingOf(value), context) ?? Promise.resolve([]),
});
