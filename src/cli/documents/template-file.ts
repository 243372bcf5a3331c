import { resolve } from 'node:path';
import { extensionFault, formatOf, readFileText } from '../../document/text/file-text.ts';
import { localFiles } from '../../document/text/local-file.ts';
import type { TemplateText } from '../../features/templates/documents/read.ts';
import { ConfigError } from '../../lib/errors.ts';

/** The text of a `.yaml`, `.yml` or `.json` file. Throws `ConfigError`, also when it is not UTF-8. */
export function readTemplateFile(file: string, cwd: string): TemplateText {
  const format = formatOf(file);
  const fault = (found: ReturnType<typeof extensionFault>): ConfigError =>
    new ConfigError([{ ...found, path: '', file }], { stage: 'parse' });
  if (format === undefined) throw fault(extensionFault(file));
  const read = readFileText(resolve(cwd, file), localFiles(cwd));
  if (!read.ok) throw fault(read.fault);
  return { body: read.text, format };
}
