/** One broker of Apache Kafka for tests, without ZooKeeper. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Admin } from '@platformatic/kafka';
import {
  freePort,
  KAFKA_FOLDER,
  serverFolder,
  serverOrReason,
  startServer,
  type TestServer,
} from './test-servers.ts';

/** Any 16 bytes; it must not begin with a dash. */
const CLUSTER_ID = 'MkU3OEVBNTcwNTJENDM2Qg';

export const kafka = serverOrReason('kafka', startKafka);

async function startKafka(): Promise<TestServer> {
  const [port, controller, folder] = [
    await freePort(),
    await freePort(),
    await serverFolder('kafka'),
  ];
  const settings = join(folder, 'server.properties');
  await writeFile(settings, propertiesOf({ port, controller, folder }));
  const java = ['-Xmx400m', '-cp', join(KAFKA_FOLDER, '*')];
  execFileSync(
    'java',
    [...java, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', settings],
    {
      stdio: 'ignore',
    },
  );
  return startServer({
    argv: ['java', ...java, 'kafka.Kafka', settings],
    port,
    folder,
    survives: ['SIGTERM', 'SIGKILL'],
    async isReady() {
      const admin = new Admin({
        clientId: 'test',
        bootstrapBrokers: [`127.0.0.1:${port}`],
        retries: 0,
        timeout: 2000,
      });
      try {
        await admin.metadata({ topics: [] });
      } finally {
        await admin.close();
      }
    },
  });
}

function propertiesOf(at: {
  readonly port: number;
  readonly controller: number;
  readonly folder: string;
}): string {
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${at.controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${at.port},CONTROLLER://127.0.0.1:${at.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${at.port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': join(at.folder, 'logs'),
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'offsets.topic.num.partitions': 1,
    // Messages of tests have old times: 30 seconds after its start it would delete them.
    'log.retention.ms': -1,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
