/** The checked options of `serve`, from which the composition root builds the server. */
import type { Env } from '../lib/env.ts';

/** As given; the server decides which combinations are valid. Absent means not given. */
export interface ServeAuth {
  readonly noAuth?: boolean;
  readonly authToken?: string;
  /** Path of a file with principals. */
  readonly authConfig?: string;
  readonly readToken?: string;
  readonly writeToken?: string;
  readonly adminToken?: string;
}

/** `memory`, or the path of a SQLite file. */
export type ServeHistory =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  /** With its login. */
  | { readonly kind: 'postgres'; readonly url: string };

/** Needs a history in PostgreSQL. */
export interface ServeCluster {
  readonly pollSecs: number;
  readonly maxAttempts: number;
  readonly handsOver: boolean;
}

export interface ServeOptions {
  /**
   * Made for this process: its log goes to stderr, and the tokens are registered with its redactor.
   */
  readonly env: Env;
  /** Whether `--log-level` or `HEADGATE_LOG` says how much is logged; otherwise documents may. */
  readonly isLevelChosen: boolean;
  /** `127.0.0.1:8080`, as written. */
  readonly listen: string;
  readonly auth: ServeAuth;
  readonly history: ServeHistory;
  /** Absolute; exists when the history lies in it. */
  readonly dataDir: string;
  /** Absolute path of the document merged beneath every submission. */
  readonly defaultConfig: string | undefined;
  /** Absolute path of the file of triggers. */
  readonly triggers: string | undefined;
  /** Absolute path of the file of template origins. */
  readonly templatesSync: string | undefined;
  /** Absolute path of the folder of documents with a schedule. */
  readonly schedules: string | undefined;
  /** Whether agents are served, and whether they may change anything; undefined: they are not. */
  readonly mcp: { readonly allowsMutations: boolean } | undefined;
  /** Whether browsers get the console. */
  readonly hasConsole: boolean;
  readonly maxConcurrentRuns: number;
  readonly maxQueuedRuns: number;
  readonly corsOrigins: readonly string[];
  /** Names of variables that may hold tokens and the like, whether they are set or not. */
  readonly credentialVariables: readonly string[];
  /** Patterns of the variables that documents may read; undefined: no bound. */
  readonly allowEnv: readonly string[] | undefined;
  /** Packages whose connectors documents may name. */
  readonly allowConnectors: readonly string[];
  /** Absolute folder that all files of documents lie in; undefined: no bound. */
  readonly dataRoot: string | undefined;
  readonly bodyLimitBytes: number;
  readonly shutdownGraceSecs: number;
  readonly retainTerminalRunsSecs: number;
  readonly idempotencyRetentionSecs: number;
  /** 0: logs are not persisted. */
  readonly logRetentionSecs: number;
  readonly logMaxLinesPerRun: number;
  readonly leaseTtlSecs: number;
  /** Undefined: this server works alone. */
  readonly cluster: ServeCluster | undefined;
  readonly probeTimeoutSecs: number;
  /** Hosts that callbacks may reach although their address is private. */
  readonly callbackAllowHosts: readonly string[];
  /** Files that sinks write on this machine. */
  readonly localOutputs: {
    /** 0 keeps them for ever. */
    readonly retentionDays: number;
    readonly graceSecs: number;
    readonly preview: {
      /** Whether rows are shown at all. */
      readonly enabled: boolean;
      /** Null: no bound. */
      readonly defaultRows: number | null;
      readonly maxRows: number | null;
    };
  };
}

export interface RunningServer {
  /** With the port really bound: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Which history is used; says so when it is degraded. */
  readonly historyText: string;
  /** Reads the settings files again, as SIGHUP asks. What is wrong is logged. */
  reload(): Promise<void>;
  /** Stops taking work, waits for runs up to the grace, cancels the rest and closes everything. */
  drain(graceSecs: number): Promise<void>;
  /** Rejects when the server dies by itself; never resolves otherwise than after `drain`. */
  readonly closed: Promise<void>;
}

/** As `openHistory` takes it. */
export function historyAddress(history: ServeHistory): string {
  switch (history.kind) {
    case 'memory':
      return 'memory';
    case 'sqlite':
      return `sqlite:${history.path}`;
    case 'postgres':
      return history.url;
    default:
      return history satisfies never;
  }
}
