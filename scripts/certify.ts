/**
 * Holds every connector to the suites of its part on every server that can be installed here, and
 * writes the result with its date to docs/certification.md. `npm run certify` takes about half
 * an hour; servers that are built or fetched come first. Ends with 1 when something failed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const DEBIAN = ['redis', 'mariadb', 'sftp', 'nats-server', 'clickhouse-server', 'rabbitmq-server'];
const INSTALLED = [
  'minio',
  'fake-gcs-server',
  'kafka',
  'mongo-java-server',
  'elasticmq',
  'dynamodb-local',
  'azurite',
  'kinesalite',
  'pstest',
  'deltalake',
  'pyiceberg',
  'iceberg-rest',
  'airbyte-source-faker',
  'airbyte-destination-ailake',
];
const SUITES = [
  'test/conformance/sources',
  'test/conformance/sinks',
  'test/conformance/killed-moves',
  'test/conformance/wire-faults',
  'test/conformance/wire-silence',
  'test/conformance/server-restarts',
  '.integration.test.ts',
];

/** What the reporter of the test runner writes. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[];
      readonly title: string;
      readonly status: 'passed' | 'failed' | 'skipped' | 'pending' | 'todo';
    }[];
  }[];
}

interface Counts {
  passed: number;
  failed: number;
  /** Clauses that do not concern the part, and suites whose server is not here. */
  skipped: number;
}

function install(): void {
  execFileSync(process.execPath, ['test/servers/install.ts', ...INSTALLED, 'rabbitmq-server'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
}

function runSuites(file: string): number {
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
      ...SUITES,
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: {
        ...process.env,
        CI: 'true',
        HEADGATE_REQUIRE_SERVERS: ['postgres', ...DEBIAN, ...INSTALLED].join(','),
      },
    },
  );
  return status ?? 1;
}

/** By the title of the suite: `source s3 (several objects)`. */
function countsBySuite(report: Report): ReadonlyMap<string, Counts> {
  const suites = new Map<string, Counts>();
  for (const { name, assertionResults } of report.testResults)
    for (const { ancestorTitles, status } of assertionResults) {
      const [first = ''] = ancestorTitles;
      const title = /^(?:source|sink) /.test(first) ? partOf(first) : relative(ROOT, name);
      const counts = suites.get(title) ?? { passed: 0, failed: 0, skipped: 0 };
      if (status === 'passed' || status === 'failed') counts[status] += 1;
      else counts.skipped += 1;
      suites.set(title, counts);
    }
  return suites;
}

/** `source kafka, which never ends,` is the same part. */
const partOf = (title: string): string => title.split(/,? /, 2).join(' ');

function table(head: string, rows: readonly (readonly [string, Counts])[]): string {
  const lines = rows
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([name, { passed, failed, skipped }]) => `| ${name} | ${passed} | ${failed} | ${skipped} |`,
    );
  return [
    `| ${head} | kept | failed | not for it, or not here |`,
    '| --- | --: | --: | --: |',
    ...lines,
  ].join('\n');
}

function pageOf(report: Report): string {
  const suites = [...countsBySuite(report)];
  const isPart = ([name]: readonly [string, Counts]): boolean => /^(?:source|sink) /.test(name);
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return `# Certification

Every connector is held to the contract of its part (\`src/conformance\`) on a real server where one can be installed, and otherwise on a server of the tests that
speaks its protocol; the README of each connector says which. \`npm run certify\` repeats this and writes this page.

Last run: ${new Date().toISOString().slice(0, 10)}, at ${commit.trim()}. Servers: PostgreSQL, ${[...DEBIAN, ...INSTALLED].join(', ')}.

## Connectors

${table('connector', suites.filter(isPart))}

## Suites of single servers, and moves that are killed

${table(
  'suite',
  suites.filter((suite) => !isPart(suite)).map(([name, counts]) => [`\`${name}\``, counts]),
)}
`;
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-certify-'));
try {
  if (!process.argv.includes('--no-install')) install();
  const file = join(folder, 'report.json');
  const status = runSuites(file);
  writeFileSync(
    join(ROOT, 'docs/certification.md'),
    pageOf(JSON.parse(readFileSync(file, 'utf8')) as Report),
  );
  process.exitCode = status;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
