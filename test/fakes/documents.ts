import { loadDocument, type LoadOptions } from '../../src/document/load.ts';
import type { Document } from '../../src/document/document.ts';
import { ConfigError, type Issue } from '../../src/lib/errors.ts';
import { Registry } from '../../src/kit/parts.ts';
import { SECRET_MANAGERS } from '../../src/secrets/index.ts';
import { Redactor } from '../../src/lib/redact.ts';
import { planDocument, type PlanOptions } from '../../src/plan/plan-document.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { FAKE_PARTS } from './parts.ts';

/** Options for documents of tests: a small environment and two files. */
export function loadOptions(overrides: Partial<LoadOptions> = {}): LoadOptions {
  const files: Readonly<Record<string, string>> = {
    'key.txt': 'from-file\n\n',
    'big.txt': 'x'.repeat(1024 * 1024 + 1),
    'full.txt': 'x'.repeat(1024 * 1024),
  };
  return {
    format: 'yaml',
    origin: { kind: 'file', path: 'test.yaml' },
    variables: {
      NAME: 'value',
      SHORT: 'abc',
      YAML: '{a: [1]}',
      TOKEN: '${now.date}',
      PART: 'AM',
      EMPTY: '',
    },
    readFile: (path, limit) => {
      const text = files[path];
      if (text === undefined) throw new Error('no such file');
      return new TextEncoder().encode(text).subarray(0, limit);
    },
    redactor: new Redactor(),
    secretManagers: new Registry(SECRET_MANAGERS),
    ...overrides,
  };
}

export function load(text: string, overrides: Partial<LoadOptions> = {}): Document {
  return loadDocument(text, loadOptions(overrides));
}

export function plan(
  text: string,
  options: Partial<PlanOptions> = {},
  loading: Partial<LoadOptions> = {},
): Plan {
  return planDocument(load(text, loading), FAKE_PARTS, { cpus: 4, ...options });
}

/** The refusal of something that must be refused with issues. */
export function refusalOf(act: () => unknown): ConfigError {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** `code path` of every issue, in order. */
export function issuesOf(act: () => unknown): string[] {
  return refusalOf(act).issues.map((issue: Issue) => `${issue.code} ${issue.path}`);
}
