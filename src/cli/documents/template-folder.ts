/** The files of a folder of templates. */
import { readdirSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { idOfText, type TemplateFile } from '../../features/templates/deployment.ts';
import { AppError, ConfigError, RefusedError, type Issue } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { readTemplateFile } from './template-file.ts';

const EXTENSIONS = ['.yaml', '.yml', '.json'];

export function templateOfFile(file: string, cwd: string): TemplateFile {
  const text = readTemplateFile(file, cwd);
  try {
    return { file, text, id: idOfText(text, basename(file, extname(file))) };
  } catch (error) {
    if (error instanceof ConfigError)
      throw new ConfigError(
        error.issues.map((issue) => ({ ...issue, file })),
        { stage: error.stage },
      );
    throw error;
  }
}

/**
 * All of them, those of subfolders too, in the order of their paths. Throws `ConfigError` with what
 * is wrong with any of them.
 */
export function templatesOfFolder(folder: string, cwd: string): TemplateFile[] {
  const issues: Issue[] = [];
  const found = filesOf(folder, cwd).flatMap((file) => {
    try {
      return [templateOfFile(file, cwd)];
    } catch (error) {
      if (error instanceof ConfigError) issues.push(...error.issues);
      else if (error instanceof RefusedError) issues.push(issueOf(error, file));
      else throw error;
      return [];
    }
  });
  const firsts = new Map<string, string>();
  for (const { id, file } of found) {
    const first = firsts.get(id);
    if (first === undefined) firsts.set(id, file);
    else
      issues.push({
        code: 'duplicate_name',
        path: 'name',
        message: `\`${id}\` is the id of ${first}, too`,
        hint: 'give each document a name of its own',
        file,
      });
  }
  if (issues.length > 0) throw new ConfigError(issues, { stage: 'validate' });
  return found;
}

function issueOf({ code, message, hint }: RefusedError, file: string): Issue {
  return { code, path: 'name', message, file, ...(hint === undefined ? {} : { hint }) };
}

function filesOf(folder: string, cwd: string): string[] {
  try {
    return readdirSync(resolve(cwd, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => EXTENSIONS.includes(extname(file)))
      .map((file) => join(folder, file))
      .sort();
  } catch (error) {
    throw new AppError('bad_option', `the folder cannot be read: ${fileFault(error).says}`, {
      hint: 'name a folder of documents',
    });
  }
}
