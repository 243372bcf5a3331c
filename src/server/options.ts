/** Everything the server is given. It makes none of it itself: `serve` composes. */
import type { Env } from '../lib/env.ts';
import type { Authenticator } from './auth/auth.ts';
import { consoleFolder, createAssets } from './http/assets.ts';
import type { Services } from './services.ts';

/** Services that the server takes from `env` or adds itself. */
type Derived = 'clock' | 'cwd' | 'redactor' | 'assets' | 'clustered';

export interface ServerOptions extends Omit<Services, Derived> {
  readonly env: Pick<Env, 'clock' | 'cwd' | 'log' | 'metrics' | 'redactor'>;
  readonly authenticate: Authenticator;
  /** Largest request body; one of exactly this size passes. Default 1 MiB. */
  readonly bodyLimitBytes?: number;
  /** Origins whose browsers may call; none turns cross-origin answers off. */
  readonly corsOrigins?: readonly string[];
  /** Without tokens on this machine only: the name it listens on. */
  readonly localOnly?: { readonly listenHost: string };
  /** Whether several instances share the history. Default false. */
  readonly clustered?: boolean;
  /** Whether browsers get the console at `/`. Default false. */
  readonly hasConsole?: boolean;
}

export const DEFAULT_BODY_LIMIT_BYTES = 1_048_576;

export function servicesOf(options: ServerOptions): Services {
  const { clock, cwd, redactor } = options.env;
  return {
    ...options,
    clock,
    cwd,
    redactor,
    assets: createAssets(options.hasConsole === true ? { console: consoleFolder() } : {}),
    clustered: options.clustered ?? false,
  };
}
