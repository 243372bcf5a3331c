/** The emulator of Spanner of the gcloud tool, where its package is installed. */
import { existsSync } from 'node:fs';
import {
  freePort,
  portAnswers,
  serverFolder,
  startServer,
  type ServerOrReason,
} from './test-servers.ts';

const PROGRAM =
  process.env['HEADGATE_SPANNER_EMULATOR'] ??
  '/usr/lib/google-cloud-sdk/bin/cloud_spanner_emulator/emulator_main';

const NAME = 'spanner-emulator';

export const spannerEmulator = emulatorOrReason([]);

/** Aborts some of the transactions that it is asked to commit. */
export const abortingSpannerEmulator = emulatorOrReason(['--enable_fault_injection']);

/** Throws instead of a reason where `HEADGATE_REQUIRE_SERVERS` names it. */
function emulatorOrReason(options: readonly string[]): ServerOrReason {
  if (existsSync(PROGRAM))
    return {
      start: async () => {
        const port = await freePort();
        return startServer({
          argv: [PROGRAM, `--host_port=127.0.0.1:${port}`, ...options],
          port,
          folder: await serverFolder('spanner'),
          isReady: () => portAnswers(port),
        });
      },
    };
  const reason =
    "no emulator of Spanner: install the package google-cloud-cli-spanner-emulator of Google's";
  if ((process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',').includes(NAME))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names ${NAME}, but there is ${reason}`);
  return { reason };
}
