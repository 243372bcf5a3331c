/**
 * What `deploy/` says of the program: options, variables and metrics that are there, of every
 * dialect that these files are written in.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { serveCommand } from '../src/cli/commands/serve.ts';
import { flagOf } from '../src/cli/framework/option.ts';
import { SHARED_OPTIONS } from '../src/cli/framework/shared-options.ts';
import type { MetricDefinition } from '../src/lib/metrics/metrics.ts';
import { VARIABLES } from '../src/lib/variables.ts';

const ROOT = resolve(import.meta.dirname, '..');
const DEPLOY = join(ROOT, 'deploy');
const files = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .sort();
const textOf = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

const { defined } = vi.hoisted(() => ({ defined: [] as MetricDefinition[] }));
vi.mock(import('../src/lib/metrics/metrics.ts'), async (original) => {
  const metrics = await original();
  const defineMetric = (definition: MetricDefinition): MetricDefinition => {
    defined.push(definition);
    return metrics.defineMetric(definition);
  };
  return { ...metrics, defineMetric };
});

describe('options and variables', () => {
  const options = Object.entries({ ...SHARED_OPTIONS, ...serveCommand.options }).filter(
    ([, option]) => option.refused !== true,
  );
  const flags = new Set(['--help', ...options.map(([key]) => flagOf(key))]);
  const variables = new Set(
    [...options.map(([, { env }]) => env ?? []), ...Object.values(VARIABLES)].flat(),
  );
  /** Their options stand in lines of their own. */
  const OTHER_PROGRAMS = /HEALTHCHECK|COPY|npm |docker |kubectl |pg_isready/;
  const lines = files
    .filter((file) => !/\.(json|md)$/.test(file))
    .flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .map((line) => ({ line, at: `${basename(file)}: ${line.trim()}` })),
    );

  it('of the server are those that it has', () => {
    const used = lines
      .filter(({ line }) => !OTHER_PROGRAMS.test(line))
      .flatMap(({ line, at }) =>
        [...line.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => ({ flag, at })),
      );
    expect(used.map(({ flag }) => flag)).toContain('--shutdown-handover');
    expect(used.filter(({ flag }) => !flags.has(flag))).toEqual([]);
  });

  it('in the environment are those that it reads', () => {
    const used = lines.flatMap(({ line, at }) =>
      [...line.matchAll(/\bHEADGATE_[A-Z_]*[A-Z]\b/g)].map(([variable]) => ({ variable, at })),
    );
    expect(used.map(({ variable }) => variable)).toContain('HEADGATE_SERVE_HISTORY');
    expect(used.filter(({ variable }) => !variables.has(variable))).toEqual([]);
  });
});

describe('times', () => {
  it('to stop are longer than runs may take to end', () => {
    const unit = textOf('systemd/headgate.service');
    const grace = (text: string): number =>
      Number(/--shutdown-grace-secs[ =](\d+)/.exec(text)?.[1]);
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1])).toBeGreaterThan(grace(unit));
    const compose = textOf('compose.yaml');
    expect(Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1])).toBeGreaterThan(grace(compose));
  });
});

describe('YAML', () => {
  const isTemplate = (file: string): boolean => file.includes('/templates/');
  const names = files.filter((file) => file.endsWith('.yaml') && !isTemplate(file));

  it.each(names.map((file) => [basename(file), file]))('%s parses', (_name, file) => {
    const documents = parseAllDocuments(readFileSync(file, 'utf8'), { merge: true });
    if (!Array.isArray(documents)) throw new Error('is empty');
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  it('of compose starts three servers that share one queue, without rights and secrets of their own', () => {
    const compose = parseDocument(textOf('compose.yaml'), { merge: true }).toJS() as {
      readonly services: Readonly<Record<string, Record<string, unknown>>>;
      readonly secrets: Readonly<Record<string, unknown>>;
    };
    const servers = Object.entries(compose.services).filter(([name]) => name !== 'postgres');
    expect(servers).toHaveLength(3);
    for (const [name, server] of servers) {
      expect(server).toMatchObject({ hostname: name, read_only: true, cap_drop: ['ALL'] });
      expect(server['command']).toContain('--cluster');
    }
    expect(new Set(servers.map(([, { ports }]) => String(ports))).size).toBe(3);
    const used = Object.values(compose.services).flatMap(({ secrets }) => secrets as string[]);
    expect(new Set(used)).toEqual(new Set(Object.keys(compose.secrets)));
  });

  it('of the chart has every value that its templates read, and no other', () => {
    const templates = files.filter(isTemplate).map((file) => readFileSync(file, 'utf8'));
    const read = new Set(
      templates.flatMap((text) => [...text.matchAll(/\.Values\.(\w+)/g)].map(([, name]) => name)),
    );
    const values = parseDocument(textOf('helm/headgate/values.yaml')).toJS() as object;
    expect(read.symmetricDifference(new Set(Object.keys(values)))).toEqual(new Set());
    const nested = templates.flatMap((text) =>
      [...text.matchAll(/\.Values\.(\w+(?:\.\w+)+)/g)].map(([, path = '']) => path.split('.')),
    );
    for (const path of nested)
      expect(parseDocument(textOf('helm/headgate/values.yaml')).hasIn(path), path.join('.')).toBe(
        true,
      );
  });
});

describe('the image', () => {
  it('copies what git has, and its context holds that', () => {
    const ignore = textOf('Dockerfile.dockerignore').split('\n');
    const copied = [...textOf('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
      .flatMap(([, sources = '']) => sources.split(' '))
      .filter((name) => name !== '');
    expect(copied).toContain('src');
    const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    }).split('\n');
    for (const name of copied) {
      expect(
        tracked.some((file) => file === name || file.startsWith(`${name}/`)),
        name,
      ).toBe(true);
      expect(ignore).toContain(`!${name}`);
    }
  });

  it('is built of every folder that the build reads', () => {
    const build = readFileSync(join(ROOT, 'scripts/build.ts'), 'utf8');
    const read = new Set([...build.matchAll(/'\.\.\/([a-z]+)\//g)].map(([, name]) => name));
    expect(read).toContain('console');
    for (const name of read) expect(textOf('Dockerfile')).toContain(`\nCOPY ${name} ${name}\n`);
  });

  it('has everything that a package holds', () => {
    const { files: packed } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly files: readonly string[];
    };
    for (const name of packed.filter((one) => one !== 'dist'))
      expect(textOf('Dockerfile')).toContain(`\nCOPY ${name} ${name}\n`);
  });

  it('installs optional clients in the version of the release, and knows no others', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-clients-'));
    try {
      const script = join(folder, 'client-versions.mjs');
      cpSync(join(DEPLOY, 'client-versions.mjs'), script);
      cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
      const versions = (...names: string[]) =>
        spawnSync(process.execPath, [script, ...names], { encoding: 'utf8' });
      const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
        readonly peerDependencies: Readonly<Record<string, string>>;
      };
      const name = '@duckdb/node-api';
      expect(versions(name).stdout).toBe(`${name}@${peerDependencies[name]}`);
      expect(versions().stdout).toBe('');
      expect(versions('left-pad')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('no optional client is called left-pad'),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

interface Query {
  readonly expr: string;
  readonly at: string;
}

describe('queries of Prometheus', () => {
  const dashboard = JSON.parse(textOf('grafana/headgate.json')) as {
    readonly panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
  };
  const alerts = parseDocument(textOf('prometheus/alerts.yaml')).toJS() as {
    readonly groups: readonly { rules: readonly { alert: string; expr: string }[] }[];
  };
  const queries: readonly Query[] = [
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ expr: withoutVariables(expr), at: title })),
    ),
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ expr, at: alert }))),
  ];
  let metrics: ReadonlyMap<string, MetricDefinition>;

  beforeAll(async () => {
    const sources = execFileSync('git', ['grep', '-l', 'defineMetric(', '--', 'src'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    for (const file of sources.trim().split('\n'))
      if (!file.endsWith('.test.ts')) await import(/* @vite-ignore */ join(ROOT, file));
    metrics = new Map(defined.map((definition) => [definition.name, definition]));
  });

  it('can be read', () => {
    expect(queries.length).toBeGreaterThan(40);
    expect(queries.filter(({ expr }) => nodesOf(expr, '⚠').length > 0)).toEqual([]);
  });

  it('name metrics that the program has, as series of their kind', () => {
    expect(metrics.size).toBeGreaterThan(100);
    const unknown = queries.flatMap(({ expr, at }) =>
      nodesOf(expr, 'VectorSelector')
        .map((selector) => nodesOf(selector, 'Identifier')[0] ?? '')
        .filter((name) => name !== 'up' && metricOf(name, metrics) === undefined)
        .map((name) => ({ name, at })),
    );
    expect(unknown).toEqual([]);
  });

  it('ask for labels that their metrics have', () => {
    const unknown = queries.flatMap(({ expr, at }) => {
      const series = nodesOf(expr, 'VectorSelector').map(
        (selector) => nodesOf(selector, 'Identifier')[0] ?? '',
      );
      // Those of Prometheus itself; `le` is of histograms.
      const known = new Set(['instance', 'job', 'le']);
      for (const name of series)
        for (const label of metricOf(name, metrics)?.labels ?? []) known.add(label);
      return nodesOf(expr, 'LabelName')
        .filter((label) => !known.has(label))
        .map((label) => ({ label, at }));
    });
    expect(unknown).toEqual([]);
  });
});

/** Grafana fills in its variables before Prometheus reads a query. */
function withoutVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, 'any');
}

/** Texts of all nodes of the kind, in order. */
function nodesOf(expr: string, kind: string): string[] {
  const found: string[] = [];
  parser.parse(expr).iterate({
    enter: (node) => {
      if (node.name === kind) found.push(expr.slice(node.from, node.to));
    },
  });
  return found;
}

/** A histogram has series of three names and none of its own. */
function metricOf(
  series: string,
  metrics: ReadonlyMap<string, MetricDefinition>,
): MetricDefinition | undefined {
  const plain = metrics.get(series);
  if (plain !== undefined) return plain.type === 'histogram' ? undefined : plain;
  const histogram = metrics.get(series.replace(/_(bucket|count|sum)$/, ''));
  return histogram?.type === 'histogram' ? histogram : undefined;
}
