/** Checks a trigger file with the documents that its triggers run. Nothing is contacted. */
import { dirname, resolve } from 'node:path';
import { BLOCKS } from '../../blocks/index.ts';
import type { Document } from '../../document/document.ts';
import {
  loadDocument,
  loadDocumentFile,
  UnfilledError,
  type FileOptions,
} from '../../document/load.ts';
import { stepsOf } from '../../document/parse/steps.ts';
import { NAMED_PATH_HINT } from '../../document/text/file-text.ts';
import { withPlaces, type Locate } from '../../document/text/locate.ts';
import type { Parts } from '../../kit/parts.ts';
import type { TriggerDefinition } from '../../kit/trigger.ts';
import type { VariableAccess } from '../../lib/access.ts';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { withOtherFaults } from '../../plan/load-to-plan.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { readTriggerFile, type Trigger } from './trigger-file.ts';
import { tokensOf, unknownTokens, withExamples } from './trigger-tokens.ts';

export interface CheckOptions {
  readonly definitions: readonly TriggerDefinition[];
  readonly parts: Parts;
  readonly cpus: number;
  /** How documents are read; the tokens of secrets managers stay as they are. */
  readonly reading: FileOptions;
  /** Which variables documents may read, where that is less than the file itself may. */
  readonly variableAccess?: VariableAccess;
}

export interface CheckedTriggers {
  readonly triggers: readonly Trigger[];
  /** Doubts that do not keep a trigger from being used. */
  readonly warnings: readonly Issue[];
}

/** `file` is absolute. Throws `ConfigError` with every issue of the file and its documents. */
export function checkTriggers(file: string, options: CheckOptions): CheckedTriggers {
  const { triggers, issues, locate } = readTriggerFile(file, options.definitions, options.reading);
  const found = withPlaces(
    issues.map((issue) => ({ ...issue, file })),
    locate,
  );
  const warnings: Issue[] = [];
  for (const trigger of triggers) {
    const { target } = trigger;
    if (target.kind === 'template') continue;
    const place = placeOf(trigger, target.document, { file, locate });
    try {
      const loaded = loadOf(trigger, target.document, { file: place.file, options });
      warnings.push(...checkDocument(trigger, loaded, { place, options }));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      found.push(...error.issues.map(place.of));
    }
  }
  // Sorted once more: those of documents that are written out stand between those of the file.
  if (found.length > 0) throw new ConfigError(withPlaces(found, () => undefined));
  return { triggers, warnings };
}

interface DocumentPlace {
  /** The file of the document. */
  readonly file: string;
  /** An issue of the document, where it stands. */
  of(this: void, issue: Issue): Issue;
}

/** A document in a file of its own names its places itself; one written out stands in ours. */
function placeOf(
  { path, name }: Trigger,
  document: string | JsonObject,
  { file, locate }: { readonly file: string; readonly locate: Locate },
): DocumentPlace {
  const at = joinPath(path, 'config');
  if (typeof document === 'string') {
    const own = resolve(dirname(file), document);
    return {
      file: own,
      of: (issue) =>
        issue.path === '' && issue.line === undefined
          ? { ...unusable(name, document, issue), path: at, file, ...locate(at) }
          : { ...issue, file: issue.file ?? own },
    };
  }
  return {
    file,
    of: ({ line: _line, column: _column, ...issue }) => {
      const inside = joinPath(at, ...stepsOf(issue.path));
      return { ...issue, path: inside, file, ...locate(inside) };
    },
  };
}

/** A file that cannot be read is a problem of the trigger that names it. */
function unusable(name: string, document: string, issue: Issue): Issue {
  const message = `trigger \`${name}\`: \`${document}\`: ${issue.message}`;
  return issue.code === 'file_unreadable'
    ? { ...issue, message, hint: NAMED_PATH_HINT }
    : { ...issue, message };
}

/** The warnings of its plan. */
function checkDocument(
  trigger: Trigger,
  loaded: Document,
  { place, options }: { readonly place: DocumentPlace; readonly options: CheckOptions },
): readonly Issue[] {
  const { parts, cpus } = options;
  const tokens = tokensOf(trigger);
  const issues = [...refusedBlocks(loaded.tree), ...unknownTokens(loaded.tree, tokens)];
  if (issues.length > 0) throw new ConfigError(withPlaces(issues, loaded.locate));
  const document = { ...loaded, tree: withExamples(loaded.tree, tokens) };
  return planDocument(document, parts, { cpus }).warnings.map(place.of);
}

function loadOf(
  trigger: Trigger,
  document: string | JsonObject,
  { file, options }: { readonly file: string; readonly options: CheckOptions },
): Document {
  try {
    return readDocument(document, file, options);
  } catch (error) {
    if (!(error instanceof UnfilledError)) throw error;
    const { issues, stage, document: unfilled } = error;
    const tree = withExamples(unfilled.tree, tokensOf(trigger));
    throw withOtherFaults(new UnfilledError(issues, stage, { ...unfilled, tree }), options.parts, {
      cpus: options.cpus,
    });
  }
}

function readDocument(
  document: string | JsonObject,
  file: string,
  { reading, variableAccess }: CheckOptions,
): Document {
  const options = {
    ...reading,
    ...(variableAccess === undefined ? {} : { variableAccess }),
    // Nobody gives its runs values for parameters: one that is required fails here, not every run.
    secrets: 'keep',
  } as const;
  return typeof document === 'string'
    ? loadDocumentFile(file, options)
    : loadDocument(stringifyJson(document), {
        ...options,
        format: 'json',
        origin: { kind: 'file', path: file },
      });
}

/** A run that a trigger starts is a submission. */
function refusedBlocks(tree: JsonObject): Issue[] {
  return BLOCKS.flatMap(({ name, notSubmitted }) =>
    notSubmitted === undefined || !Object.hasOwn(tree, name)
      ? []
      : [{ ...notSubmitted, path: name }],
  );
}
