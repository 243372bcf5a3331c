/**
 * A browser for tests: that of the system, without a screen. Where there is none, suites are skipped
 * with that reason; `HEADGATE_REQUIRE_SERVERS` makes it an error.
 */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export type ChromiumOrReason =
  | { readonly start: () => Promise<Browser>; readonly reason?: undefined }
  | { readonly reason: string; readonly start?: undefined };

export function chromiumOrReason(): ChromiumOrReason {
  const named = process.env['HEADGATE_TEST_CHROMIUM'];
  const executablePath = [...(named === undefined ? [] : [named]), ...PROGRAMS].find((path) =>
    existsSync(path),
  );
  if (executablePath !== undefined)
    // With a new empty profile of its own.
    return { start: () => chromium.launch({ executablePath, args: FLAGS, timeout: 120_000 }) };
  const reason = 'no Chromium: install Debian’s chromium, or set HEADGATE_TEST_CHROMIUM';
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes('chromium'))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names chromium, but there is ${reason}`);
  return { reason };
}
