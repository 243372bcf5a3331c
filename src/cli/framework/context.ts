import { noMetrics } from '../../lib/metrics/metrics.ts';
import type { Env } from '../../lib/env.ts';
import { createLog, type LogLevel } from '../../lib/log.ts';
import { Redactor } from '../../lib/redact.ts';
import type { Parts } from '../../kit/parts.ts';
import { Terminal } from '../render/render.ts';
import type { RunningServer, ServeOptions } from '../serve-options.ts';
import type { World } from './world.ts';

/**
 * What only the composition root knows. Functions, so that `--version` and help load nothing else.
 */
export interface Wiring {
  readonly version: string;
  /** With the connectors of these packages. */
  parts(packages: readonly string[], cwd: string): Promise<Parts>;
  serve(options: ServeOptions): Promise<RunningServer>;
  /** Module of a process that may crash. */
  crashEntry(): string;
  /** Module of a process that writes with a connector and is killed. */
  writerEntry(): string;
}

/** What commands see of it. */
export interface CommandWiring extends Omit<Wiring, 'parts'> {
  parts(): Promise<Parts>;
}

export interface CliContext {
  /** Its variables include those of the `.env` file. */
  readonly world: World;
  readonly wiring: CommandWiring;
  /** Packages whose connectors documents may name. */
  readonly allowedConnectors: readonly string[];
  readonly terminal: Terminal;
  readonly env: Env;
  /** Whether the log level was asked for, and is not just the default. */
  readonly isLevelChosen: boolean;
  /** The same world with another log level. */
  envAt(level: LogLevel): Env;
  /** The document the command works on, so that issues can be shown in it. */
  setDocument(file: string): void;
  document(): string | undefined;
}

export interface SharedSettings {
  readonly log: { readonly level: LogLevel; readonly isChosen: boolean };
  readonly allowedConnectors: readonly string[];
}

export function createContext(
  world: World,
  wiring: Wiring,
  { log, allowedConnectors }: SharedSettings,
): CliContext {
  const redactor = new Redactor();
  const { stdout, stderr, variables, clock, ids, cwd } = world;
  const terminal = new Terminal({ stdout, stderr, variables, redactor });
  let document: string | undefined;
  let parts: Promise<Parts> | undefined;
  const envAt = (level: LogLevel): Env => ({
    clock,
    ids,
    log: createLog({
      level,
      target: 'headgate',
      clock,
      redactor,
      write: (line) => terminal.log(line),
    }),
    metrics: noMetrics,
    redactor,
    fetch: world.fetch,
    variables,
    cwd,
  });
  return {
    world,
    wiring: { ...wiring, parts: () => (parts ??= wiring.parts(allowedConnectors, cwd)) },
    allowedConnectors,
    terminal,
    env: envAt(log.level),
    isLevelChosen: log.isChosen,
    envAt,
    setDocument: (file) => {
      document = file;
    },
    document: () => document,
  };
}
