import { resolve } from 'node:path';
import { readFormattedFile } from '../../document/text/file-text.ts';
import { localFiles } from '../../document/text/local-file.ts';
import type { TemplateText } from '../../features/templates/documents/read.ts';
import { ConfigError } from '../../lib/errors.ts';

/** The text of a `.yaml`, `.yml` or `.json` file. Throws `ConfigError`, also when it is not UTF-8. */
export function readTemplateFile(file: string, cwd: string): TemplateText {
  const read = readFormattedFile(resolve(cwd, file), localFiles(cwd));
  if (!read.ok) throw new ConfigError([{ ...read.fault, path: '', file }], { stage: 'parse' });
  return { body: read.text, format: read.format };
}
