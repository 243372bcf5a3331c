import { stat } from 'node:fs/promises';
import { basename, dirname, relative } from 'node:path';
import type { SourceContext } from '../../../kit/context.ts';
import { isInShare } from '../../../kit/share.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { readBlocks } from '../../_files/lines/blocks.ts';
import {
  codecOfName,
  decompress,
  withoutCodecSuffix,
  type Codec,
} from '../../_files/compression/compression.ts';
import { onDisk } from '../../_files/io-error.ts';
import { isGlob, listFolder, listGlob, type FoundFile } from '../../_files/listing.ts';
import { resolvePath } from '../../_files/paths.ts';
import { formatOfName, type Format } from '../../_files/formats.ts';
import { ORC_UNREAD } from '../../_files/orc.ts';
import type { Input } from '../../_files/read/input.ts';
import { withParentValues } from '../../_files/read/parent-values.ts';
import { isUrl, type FileSourceConfig } from './source-config.ts';
import { fetchFile } from './fetch-file.ts';
import { decrypted } from '../../_files/read/decrypt.ts';

/** Everything the config names, in the order in which it is read. */
export async function inputsOf(config: FileSourceConfig, context: SourceContext): Promise<Input[]> {
  const path = withParentValues(config.path, context);
  if (isUrl(path)) return [await urlInput(path, config, context)];
  const target = resolvePath(context.env.cwd, path);
  const { base, files, single } = await find(target, config, context);
  const inputs = files
    .filter((file) => isStable(file, config, context) && isInShare(file.path, context.share))
    .map((file) => localInput(file, base, { config, context, single }));
  if (files.length === 0)
    context.env.log.warn('there is no file to read: no record comes from here', {
      path: target,
      hint: isGlob(target)
        ? 'check the pattern; relative paths start at the working folder of the process'
        : 'the folder is empty; with `recursive: true` its subfolders are read too',
    });
  return inputs.filter((input) => input !== undefined);
}

async function find(target: string, config: FileSourceConfig, { signal }: SourceContext) {
  const entry = await stat(target).catch(() => undefined);
  if (entry === undefined && isGlob(target)) {
    const { base, files } = await listGlob(target, signal);
    return { base, files, single: false };
  }
  const known = entry ?? (await onDisk('read', target, () => stat(target)));
  if (known.isDirectory())
    return {
      base: target,
      files: await listFolder(target, { recursive: config.recursive, signal }),
      single: false,
    };
  return {
    base: dirname(target),
    files: [{ path: target, mtimeMs: known.mtimeMs, size: known.size }],
    single: true,
  };
}

function isStable(file: FoundFile, config: FileSourceConfig, { env }: SourceContext): boolean {
  return (
    config.stable_for_secs === undefined ||
    env.clock.now().getTime() - file.mtimeMs >= config.stable_for_secs * 1000
  );
}

interface Place {
  readonly config: FileSourceConfig;
  readonly context: SourceContext;
  /** Whether the config names this one file: then it is never skipped. */
  readonly single: boolean;
}

function localInput(file: FoundFile, base: string, place: Place): Input | undefined {
  const { config, context } = place;
  const format = chooseFormat(file.path, place);
  if (format === undefined) return undefined;
  const codec = codecFor(file.path, config);
  return {
    name: file.path,
    key: relative(base, file.path),
    mtimeMs: file.mtimeMs,
    format,
    origin: { path: file.path },
    plainPath: codec === 'none' && config.encryption === undefined ? file.path : undefined,
    blocks: () => {
      const stored = readBlocks({ path: file.path, codec: 'none', signal: context.signal });
      return decompress(decrypted(stored, { config, format, name: file.path }), codec, file.path);
    },
  };
}

async function urlInput(
  address: string,
  config: FileSourceConfig,
  context: SourceContext,
): Promise<Input> {
  const url = new URL(address);
  const name = `${url.protocol}//${url.host}${url.pathname}`;
  const format = chooseFormat(url.pathname, { config, context, single: true });
  if (format === undefined) throw unknownFormat(name);
  const codec = codecFor(url.pathname, config);
  const answer = await fetchFile(url, name, {
    headers: config.headers,
    retries: config.http_retries,
    context,
  });
  return {
    name,
    key: basename(url.pathname),
    mtimeMs: answer.lastModifiedMs,
    format,
    origin: { path: name },
    blocks: () => decompress(decrypted(answer.body(), { config, format, name }), codec, name),
  };
}

function codecFor(name: string, config: FileSourceConfig): Codec {
  return config.compression === 'auto' ? codecOfName(name) : config.compression;
}

function chooseFormat(path: string, { config, context, single }: Place): Format | undefined {
  const format = config.format === 'auto' ? formatOfName(withoutCodecSuffix(path)) : config.format;
  if (format === 'orc')
    throw new ConnectorError('refused', `cannot read ${path}: ${ORC_UNREAD.message}`, {
      hint: ORC_UNREAD.hint,
    });
  if (format !== undefined) return format;
  if (single || config.strict) throw unknownFormat(path);
  context.env.log.warn('skipped a file of unknown extension', { path });
  return undefined;
}

function unknownFormat(name: string): ConnectorError {
  return new ConnectorError('refused', `cannot tell the format of ${name} by its extension`, {
    hint: 'set `format`',
  });
}
