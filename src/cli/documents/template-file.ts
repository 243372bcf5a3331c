import { resolve } from 'node:path';
import { readFormattedFile } from '../../document/text/file-text.ts';
import { localFiles } from '../../document/text/local-file.ts';
import type { TemplateText } from '../../features/templates/documents/read.ts';

/** The text of a `.yaml`, `.yml` or `.json` file. Throws `ConfigError`, also when it is not UTF-8. */
export function readTemplateFile(file: string, cwd: string): TemplateText {
  const { text, format } = readFormattedFile(resolve(cwd, file), localFiles(cwd));
  return { body: text, format };
}
