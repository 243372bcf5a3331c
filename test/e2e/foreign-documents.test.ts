/**
 * Documents as people write them elsewhere for this grammar. Each loads and can be described, or is
 * refused for exactly what stands beside it in `<name>.issues.json`: what is missing or wrong, at
 * which place, once. What loads with doubts has them there.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { explainDocument, introduce, formatRow } from '../../src/cli/render/explain-plan.ts';
import { formatOf } from '../../src/document/text/file-text.ts';
import { loadDocument } from '../../src/document/load.ts';
import { ConfigError, type Issue } from '../../src/lib/errors.ts';
import { Redactor } from '../../src/lib/redact.ts';
import { parts } from '../../src/parts.ts';
import { planDocument } from '../../src/plan/plan-document.ts';
import type { Plan } from '../../src/plan/plan.ts';

const FOLDER = resolve(import.meta.dirname, '../fixtures/documents/foreign');
const names = readdirSync(FOLDER).filter((name) => !name.endsWith('.issues.json'));

const variables = {
  API_TOKEN: 'api-token',
  CLIENT_SECRET: 'client-secret',
  CURRENCY: 'EUR',
  KEY: 'a-key',
  MASK_KEY: 'mask-key',
  NOTE: 'note',
  PASSWORD: 'pass-word',
  PG_SOURCE: 'postgres://source.test/shop',
  PG_TARGET: 'postgres://target.test/warehouse',
  SALT: 'salt',
};

/** As `validate --no-secrets` does. */
function planOf(name: string): Plan {
  const document = loadDocument(readFileSync(join(FOLDER, name), 'utf8'), {
    format: formatOf(name) ?? 'yaml',
    origin: { kind: 'file', path: name },
    variables,
    readFile: () => {
      throw new Error('no document names a file');
    },
    redactor: new Redactor(),
    secretManagers: parts.secrets,
    paramMode: 'placeholders',
    secrets: 'keep',
  });
  return planDocument(document, parts, { cpus: 4, backfill: 'kept' });
}

interface Expected {
  readonly refused?: readonly string[];
  readonly doubts?: readonly string[];
}

const told = ({ line, column, path, code, message }: Issue): string =>
  `${line}:${column} ${code} ${path}: ${message}`;

function expectedOf(name: string): Expected {
  const file = join(FOLDER, `${name}.issues.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Expected) : {};
}

function outcomeOf(name: string): Expected {
  try {
    const plan = planOf(name);
    for (const text of [
      ...introduce(plan),
      ...plan.rows.flatMap((row) => formatRow(row, plan.topology)),
    ])
      expect(text).not.toBe('');
    expect(explainDocument(plan)).toMatchObject({ pipeline: plan.name });
    return plan.warnings.length === 0 ? {} : { doubts: plan.warnings.map(told) };
  } catch (error) {
    if (error instanceof ConfigError) return { refused: error.issues.map(told) };
    throw error;
  }
}

describe('a document of another place', () => {
  test('is one of at least fifty', () => {
    expect(names.length).toBeGreaterThanOrEqual(50);
  });

  test.each(names)('%s loads, or is refused for what is missing', (name) => {
    expect(outcomeOf(name)).toEqual(expectedOf(name));
  });
});
