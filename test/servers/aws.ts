/** Emulators of services of Amazon for tests: ElasticMQ, Kinesalite and DynamoDB Local. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DYNAMODB_FOLDER,
  ELASTICMQ_FOLDER,
  freePort,
  KINESALITE_FOLDER,
  serverFolder,
  serverOrReason,
  startServer,
  type TestServer,
} from './test-servers.ts';

export const AWS_KEYS = { accessKeyId: 'headgate', secretAccessKey: 'sEcReT-of-the-key' } as const;

export const elasticmq = serverOrReason('elasticmq', startElasticmq);
export const kinesalite = serverOrReason('kinesalite', startKinesalite);
export const dynamodbLocal = serverOrReason('dynamodb-local', startDynamodb);

async function startElasticmq(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('elasticmq')];
  const settings = join(folder, 'elasticmq.conf');
  const rest = `rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1" }`;
  const address = `node-address { protocol = http, host = "127.0.0.1", port = ${port}, context-path = "" }`;
  await writeFile(settings, `${rest}\n${address}\nrest-stats { enabled = false }\n`);
  const classes = join(ELASTICMQ_FOLDER, '*');
  return startServer({
    argv: [
      'java',
      '-Xmx256m',
      `-Dconfig.file=${settings}`,
      '-cp',
      classes,
      'org.elasticmq.server.Main',
    ],
    port,
    folder,
    isReady: (url) => fetch(url),
  });
}

async function startKinesalite(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('kinesalite')];
  const program = join(KINESALITE_FOLDER, 'node_modules/kinesalite/cli.js');
  const quick = ['--createStreamMs', '5', '--deleteStreamMs', '5', '--updateStreamMs', '5'];
  return startServer({
    argv: [process.execPath, program, '--port', String(port), ...quick, '--shardLimit', '10000'],
    port,
    folder,
    isReady: (url) => fetch(url),
  });
}

async function startDynamodb(): Promise<TestServer> {
  const [port, folder] = [await freePort(), await serverFolder('dynamodb')];
  const classes = join(DYNAMODB_FOLDER, '*');
  const program = 'com.amazonaws.services.dynamodbv2.local.main.ServerRunner';
  return startServer({
    argv: ['java', '-Xmx256m', '-cp', classes, program, '-inMemory', '-port', String(port)],
    variables: { DDB_LOCAL_TELEMETRY: '0' },
    port,
    folder,
    isReady: (url) => fetch(url),
  });
}
