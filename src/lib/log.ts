import type { Clock } from './time/clock.ts';
import type { Redactor } from './redact.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/**
 * One line as it is streamed and stored: `LEVEL target: message key=value …`, redacted, without a
 * newline.
 */
export interface LogLine {
  /** RFC 3339 with milliseconds and `Z`. */
  readonly ts: string;
  /** `TRACE` … `ERROR`. */
  readonly level: string;
  readonly line: string;
}

export interface Log {
  readonly level: LogLevel;
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log for another part: */
  at(target: string): Log;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly target: string;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly write: (line: LogLine) => void;
}

/** Lines below the level are not built. */
export function createLog(options: LogOptions): Log {
  const threshold = LOG_LEVELS.indexOf(options.level);
  const emit = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (LOG_LEVELS.indexOf(level) < threshold) return;
    const upper = level.toUpperCase();
    const text = `${upper} ${options.target}: ${message}${renderFields(fields)}`;
    const line = options.redactor.text(text).replaceAll(/[\r\n]+/g, ' ');
    options.write({ ts: options.clock.now().toISOString(), level: upper, line });
  };
  return {
    level: options.level,
    trace: (message, fields) => emit('trace', message, fields),
    debug: (message, fields) => emit('debug', message, fields),
    info: (message, fields) => emit('info', message, fields),
    warn: (message, fields) => emit('warn', message, fields),
    error: (message, fields) => emit('error', message, fields),
    at: (target) => createLog({ ...options, target }),
  };
}

function renderFields(fields: LogFields | undefined): string {
  if (fields === undefined) return '';
  let out = '';
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const text = String(value);
    out += ` ${key}=${/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)}`;
  }
  return out;
}
