/**
 * Builds or fetches the servers that tests need and that are no package: MinIO, an emulator of
 * Google Cloud Storage and one of Pub/Sub from the Go module proxy (a few minutes, needs `go`), Apache Kafka, a
 * server for MongoDB's protocol, ElasticMQ, DynamoDB Local and the REST catalog of Apache Iceberg from Maven Central (seconds, needs
 * `mvn`; a JRE runs them), Azurite and Kinesalite from npm, and where they are named Kafka's tools, chdb, deltalake, pyiceberg, airbyte-source-faker and airbyte-destination-ailake from PyPI (needs `python3`) and RabbitMQ from Debian's package (as root). `node test/servers/install.ts [name …]`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AIRBYTE_AILAKE_FOLDER,
  AIRBYTE_AILAKE_VERSION,
  AIRBYTE_FAKER_FOLDER,
  AIRBYTE_FAKER_VERSION,
  AZURITE_FOLDER,
  AZURITE_VERSION,
  CHDB_FOLDER,
  CHDB_VERSION,
  DELTALAKE_FOLDER,
  DELTALAKE_VERSION,
  DYNAMODB_FOLDER,
  ELASTICMQ_FOLDER,
  ICEBERG_REST_FOLDER,
  ICEBERG_REST_VERSION,
  GO_SERVERS,
  KAFKA_FOLDER,
  KAFKA_TOOLS_FOLDER,
  KINESALITE_FOLDER,
  KINESALITE_VERSION,
  MONGO_FOLDER,
  OWN_GO_SERVERS,
  programOf,
  PYICEBERG_FOLDER,
  PYICEBERG_VERSION,
  SERVERS_FOLDER,
} from './test-servers.ts';

const SLF4J = 'org.slf4j:slf4j-simple:1.7.36';

function pomOf(artifacts: readonly string[]): string {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version, classifier] = artifact.split(':');
    const kind = classifier === undefined ? '' : `<classifier>${classifier}</classifier>`;
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version>${kind}</dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>headgate.test</groupId><artifactId>servers</artifactId><version>1</version>
<dependencies>${dependencies.join('')}</dependencies></project>
`;
}

function installGo(name: keyof typeof GO_SERVERS): void {
  if (existsSync(programOf(name))) return;
  console.log(`building ${GO_SERVERS[name]}; this takes a minute or more`);
  const env = { ...process.env, GOBIN: join(SERVERS_FOLDER, 'bin') };
  execFileSync('go', ['install', GO_SERVERS[name]], { env, stdio: 'inherit' });
}

function installOwnGo(name: (typeof OWN_GO_SERVERS)[number]): void {
  if (existsSync(programOf(name))) return;
  console.log(`building ${name}`);
  const cwd = join(import.meta.dirname, 'go', name);
  execFileSync('go', ['build', '-o', programOf(name), '.'], { cwd, stdio: 'inherit' });
}

/** Fetches archives and what they need into `to`. */
function fetchJars(what: string, to: string, artifacts: readonly string[]): void {
  console.log(`fetching ${what}`);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pom-'));
  writeFileSync(join(folder, 'pom.xml'), pomOf(artifacts));
  execFileSync('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${to}`], {
    cwd: folder,
    stdio: 'inherit',
  });
  rmSync(folder, { recursive: true });
}

function installKafka(): void {
  if (existsSync(KAFKA_FOLDER)) return;
  fetchJars('Apache Kafka', KAFKA_FOLDER, ['org.apache.kafka:kafka_2.13:4.0.0', SLF4J]);
}

function installKafkaTools(): void {
  if (existsSync(KAFKA_TOOLS_FOLDER)) return;
  const tools = ['org.apache.kafka:kafka-tools:4.0.0', SLF4J];
  fetchJars('the tools of Apache Kafka', KAFKA_TOOLS_FOLDER, tools);
}

/** The program that the archives bring listens on one port only. */
const MONGO_PROGRAM = `
public class Serve {
  public static void main(String[] args) throws Exception {
    var server = new de.bwaldvogel.mongo.MongoServer(
      new de.bwaldvogel.mongo.backend.memory.MemoryBackend());
    if (args.length > 1) server.enableOplog();
    server.bind("127.0.0.1", Integer.parseInt(args[0]));
    Thread.currentThread().join();
  }
}
`;

function installMongo(): void {
  if (existsSync(join(MONGO_FOLDER, 'Serve.class'))) return;
  fetchJars('mongo-java-server', MONGO_FOLDER, ['de.bwaldvogel:mongo-java-server:1.47.0', SLF4J]);
  const program = join(MONGO_FOLDER, 'Serve.java');
  writeFileSync(program, MONGO_PROGRAM);
  execFileSync('javac', ['-cp', join(MONGO_FOLDER, '*'), '-d', MONGO_FOLDER, program], {
    stdio: 'inherit',
  });
}

function installElasticmq(): void {
  if (existsSync(ELASTICMQ_FOLDER)) return;
  fetchJars('ElasticMQ', ELASTICMQ_FOLDER, ['org.elasticmq:elasticmq-server_2.13:1.6.11']);
}

function installDynamodb(): void {
  if (existsSync(DYNAMODB_FOLDER)) return;
  fetchJars('DynamoDB Local', DYNAMODB_FOLDER, ['com.amazonaws:DynamoDBLocal:2.5.4']);
}

/** The catalog server that the tests of Iceberg itself use. */
function installIcebergRest(): void {
  if (existsSync(ICEBERG_REST_FOLDER)) return;
  const iceberg = (name: string) => `org.apache.iceberg:${name}:${ICEBERG_REST_VERSION}`;
  fetchJars('the REST catalog of Apache Iceberg', ICEBERG_REST_FOLDER, [
    `${iceberg('iceberg-open-api')}:test-fixtures`,
    iceberg('iceberg-core'),
    `${iceberg('iceberg-core')}:tests`,
    'org.apache.hadoop:hadoop-client-api:3.4.1',
    'org.apache.hadoop:hadoop-client-runtime:3.4.1',
    'org.eclipse.jetty:jetty-servlet:11.0.24',
    'org.xerial:sqlite-jdbc:3.46.1.3',
    'org.slf4j:slf4j-simple:2.0.16',
  ]);
}

function fetchPackage(name: string, version: string, folder: string): void {
  if (existsSync(folder)) return;
  console.log(`fetching ${name}`);
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part);
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', part];
  execFileSync('npm', ['install', ...options, `${name}@${version}`], { stdio: 'inherit' });
  renameSync(part, folder);
}

/** Large packages of Python, so only where they are named: chdb has 530 MB, deltalake 200. */
function installFromPypi(name: string, folder: string, options: readonly string[]): void {
  if (existsSync(folder)) return;
  console.log(`fetching ${name}`);
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  const all = ['-m', 'pip', 'install', '-q', '--target', part, ...options];
  execFileSync('python3', all, { stdio: 'inherit' });
  renameSync(part, folder);
}

const isInstalled = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

const asked = process.argv.slice(2);
const wants = (name: string): boolean => asked.length === 0 || asked.includes(name);
mkdirSync(SERVERS_FOLDER, { recursive: true });
for (const name of Object.keys(GO_SERVERS) as (keyof typeof GO_SERVERS)[])
  if (wants(name)) installGo(name);
for (const name of OWN_GO_SERVERS) if (wants(name)) installOwnGo(name);
if (wants('kafka')) installKafka();
// For benchmarks only.
if (asked.includes('kafka-tools')) installKafkaTools();
if (wants('mongo-java-server')) installMongo();
if (wants('elasticmq')) installElasticmq();
if (wants('dynamodb-local')) installDynamodb();
if (wants('iceberg-rest')) installIcebergRest();
if (wants('azurite')) fetchPackage('azurite', AZURITE_VERSION, AZURITE_FOLDER);
if (wants('kinesalite')) fetchPackage('kinesalite', KINESALITE_VERSION, KINESALITE_FOLDER);
if (asked.includes('chdb'))
  installFromPypi('chdb', CHDB_FOLDER, ['--no-deps', `chdb-core==${CHDB_VERSION}`]);
if (asked.includes('airbyte-source-faker'))
  installFromPypi('airbyte-source-faker', AIRBYTE_FAKER_FOLDER, [
    `airbyte-source-faker==${AIRBYTE_FAKER_VERSION}`,
  ]);
if (asked.includes('airbyte-destination-ailake'))
  installFromPypi('airbyte-destination-ailake', AIRBYTE_AILAKE_FOLDER, [
    `airbyte-destination-ailake==${AIRBYTE_AILAKE_VERSION}`,
    'pyarrow==26.0.1',
  ]);
if (asked.includes('deltalake'))
  installFromPypi('deltalake', DELTALAKE_FOLDER, [
    `deltalake==${DELTALAKE_VERSION}`,
    'pyarrow==26.0.1',
  ]);
if (asked.includes('pyiceberg'))
  installFromPypi('pyiceberg', PYICEBERG_FOLDER, [
    `pyiceberg[sql-sqlite,pyiceberg-core]==${PYICEBERG_VERSION}`,
    'pyarrow==26.0.1',
  ]);
if (asked.includes('rabbitmq-server') && !isInstalled('rabbitmq-server'))
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'rabbitmq-server'], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: 'inherit',
  });
