/** Documents that the server runs on a schedule: those of a folder, and stored templates. */
import { readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import type { ScheduleSpec } from '../../../blocks/schedule/schema.ts';
import type { Composed } from '../../../document/compose/compose.ts';
import { parseText } from '../../../document/parse/parse.ts';
import type { Locate } from '../../../document/text/locate.ts';
import { AppError, ConfigError, RefusedError, type Issue } from '../../../lib/errors.ts';
import { fileFault } from '../../../lib/files/file-fault.ts';
import { stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import type { TemplateVersion } from '../../../history/templates.ts';
import type { Jobs } from '../../../runs/service/jobs.ts';
import { submittedDocument, type BaseDocument } from '../../../runs/service/prepared.ts';
import type { ScheduleView } from '../../../wire/schedules.ts';
import { scheduleJob, type ReadSchedule } from './schedule-job.ts';

/** A document with a schedule, as it was written. */
export interface ScheduleDocument {
  readonly name: string;
  readonly source: ScheduleView['source'];
  readonly tree: JsonObject;
  /** Finds places in its file. */
  readonly locate?: Locate;
}

export interface UsableSchedule extends ReadSchedule {
  readonly spec: ScheduleSpec;
}

/** With what its schedule says, or why that cannot be used. */
export interface LoadedDocument extends ScheduleDocument {
  readonly read: UsableSchedule | undefined;
  readonly problem: string | undefined;
}

export interface DocumentServices {
  readonly jobs: Jobs;
  readonly base: () => BaseDocument | undefined;
}

const EXTENSIONS = ['.yaml', '.yml', '.json'];

/**
 * Every document of the folder, by name. Throws `ConfigError` or `AppError` for the first fault of
 * each file.
 */
export function documentsOfFolder(
  folder: string,
  compose: (path: string) => Pick<Composed, 'tree' | 'locate'>,
): ScheduleDocument[] {
  const issues: Issue[] = [];
  const documents = filesOf(folder).flatMap((file): ScheduleDocument[] => {
    const path = join(folder, file);
    try {
      const { tree, locate } = compose(path);
      if (tree['schedule'] != null)
        return [{ name: nameOf(file), source: { kind: 'document', path }, tree, locate }];
      issues.push({ ...WITHOUT_SCHEDULE, file: path });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      issues.push(...error.issues.map((issue) => ({ file: path, ...issue })));
    }
    return [];
  });
  issues.push(...duplicates(documents));
  if (issues.length > 0) throw new ConfigError(issues, { stage: 'validate' });
  return documents;
}

const WITHOUT_SCHEDULE = {
  code: 'no_schedule',
  path: 'schedule',
  message: 'the document has no `schedule`',
  hint: 'add one, or move the document out of the folder of schedules',
};

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && EXTENSIONS.includes(extname(entry.name)))
      .map((entry) => entry.name)
      .sort();
  } catch (error) {
    throw new AppError(
      'bad_option',
      `the folder of schedules ${folder} cannot be read: ${fileFault(error).says}`,
      { hint: 'check the path that --schedules names' },
    );
  }
}

function nameOf(file: string): string {
  return basename(file, extname(file));
}

function duplicates(documents: readonly ScheduleDocument[]): Issue[] {
  return documents.flatMap(({ name, source }, index) =>
    documents.findIndex((other) => other.name === name) === index || source.kind !== 'document'
      ? []
      : [
          {
            code: 'duplicate_name',
            path: '',
            message: `another file is called \`${name}\`, too`,
            hint: 'rename one of them: the name of a schedule is that of its file',
            file: source.path,
          },
        ],
  );
}

/** Name of the schedule of a template; documents of the folder have names without a colon. */
export function scheduleOfTemplate(id: string): string {
  return `template:${id}`;
}

/** The documents of templates that have a schedule. */
export function documentsOfTemplates(versions: readonly TemplateVersion[]): ScheduleDocument[] {
  return versions.flatMap(documentOfTemplate);
}

function documentOfTemplate({ id, version, body, format }: TemplateVersion): ScheduleDocument[] {
  const { tree } = parseText(body, format, { kind: 'submitted' });
  if (tree['schedule'] == null) return [];
  return [{ name: scheduleOfTemplate(id), source: { kind: 'template', id, version }, tree }];
}

/** What each schedule says; a document that cannot be used has a problem. */
export async function loadDocument(
  document: ScheduleDocument,
  services: DocumentServices,
): Promise<LoadedDocument> {
  try {
    const read = await readSchedule(document, services, true);
    const { spec } = read;
    if (spec === undefined)
      return { ...document, read: undefined, problem: WITHOUT_SCHEDULE.message };
    return { ...document, read: { ...read, spec }, problem: undefined };
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof RefusedError)) throw error;
    return { ...document, read: undefined, problem: error.message };
  }
}

/** Rejects with the `ConfigError` of every document that cannot be used. */
export async function loadFolder(
  documents: readonly ScheduleDocument[],
  services: DocumentServices,
): Promise<readonly LoadedDocument[]> {
  const issues: Issue[] = [];
  const loaded = await Promise.all(
    documents.map(async (document) => {
      try {
        const read = await readSchedule(document, services, true);
        return { ...document, read: read as LoadedDocument['read'], problem: undefined };
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const file = document.source.kind === 'document' ? document.source.path : document.name;
        // The worker read the document as one text, whose lines are not those of the file.
        for (const { line: _line, column: _column, ...issue } of error.issues)
          issues.push({ ...issue, file, ...document.locate?.(issue.path) });
        return { ...document, read: undefined, problem: error.message };
      }
    }),
  );
  if (issues.length > 0) throw new ConfigError(issues, { stage: 'validate' });
  return loaded;
}

export function readSchedule(
  document: ScheduleDocument,
  { jobs, base }: DocumentServices,
  keepsSecrets: boolean,
): Promise<ReadSchedule> {
  const written = { ...submissionOf(document), config: stringifyJson(document.tree) };
  return jobs.run(
    scheduleJob,
    {
      kind: 'schedule',
      document: submittedDocument(written, base()),
      keeps_secrets: keepsSecrets,
    },
    {},
  );
}

/** As it is submitted: a submitted document cannot have a schedule, and is named like its file. */
export function submissionOf({ name, source, tree }: ScheduleDocument) {
  const { schedule: _, ...rest } = tree;
  const isNamed = typeof tree['name'] === 'string' && tree['name'] !== '';
  const fallback = source.kind === 'template' ? source.id : name;
  return {
    config: stringifyJson(rest),
    config_format: 'json' as const,
    name: isNamed ? null : fallback,
  };
}
