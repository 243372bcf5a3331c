/**
 * Servers of Google for Pub/Sub: pstest, which a small program of ours serves, and the emulator of
 * the gcloud tool where its package `google-cloud-cli-pubsub-emulator` is installed.
 */
import { existsSync } from 'node:fs';
import {
  freePort,
  portAnswers,
  programOf,
  serverFolder,
  serverOrReason,
  startServer,
  type ServerOrReason,
  type TestServer,
} from './test-servers.ts';

export const pstest = serverOrReason('pstest', async () => {
  const port = await freePort();
  return startPubsub([programOf('pstest'), `-port=${port}`], port);
});

const JAR =
  '/usr/lib/google-cloud-sdk/platform/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.20-all.jar';

export const pubsubEmulator: ServerOrReason = existsSync(JAR)
  ? {
      start: async () => {
        const port = await freePort();
        return startPubsub(
          ['java', '-Xmx256m', '-jar', JAR, '--host=127.0.0.1', `--port=${port}`],
          port,
        );
      },
    }
  : { reason: "no emulator: install the package google-cloud-cli-pubsub-emulator of Google's" };

async function startPubsub(argv: readonly string[], port: number): Promise<TestServer> {
  const folder = await serverFolder('pubsub');
  return startServer({ argv, port, folder, isReady: () => portAnswers(port) });
}
