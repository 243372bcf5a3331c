/**
 * Builds or fetches the servers that tests need and that are no package: MinIO and an emulator of
 * Google Cloud Storage from the Go module proxy (a few minutes, needs `go`), Apache Kafka from Maven
 * Central (seconds, needs `mvn`; a JRE runs it). `node test/servers/install.ts [name …]`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GO_SERVERS, KAFKA_FOLDER, programOf, SERVERS_FOLDER } from './test-servers.ts';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>headgate.test</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.0.0</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
`;

function installGo(name: keyof typeof GO_SERVERS): void {
  if (existsSync(programOf(name))) return;
  console.log(`building ${GO_SERVERS[name]}; this takes a minute or more`);
  const env = { ...process.env, GOBIN: join(SERVERS_FOLDER, 'bin') };
  execFileSync('go', ['install', GO_SERVERS[name]], { env, stdio: 'inherit' });
}

function installKafka(): void {
  if (existsSync(KAFKA_FOLDER)) return;
  console.log('fetching Apache Kafka');
  const folder = mkdtempSync(join(tmpdir(), 'headgate-kafka-pom-'));
  writeFileSync(join(folder, 'pom.xml'), POM);
  const to = `-DoutputDirectory=${KAFKA_FOLDER}`;
  execFileSync('mvn', ['-q', '-B', 'dependency:copy-dependencies', to], {
    cwd: folder,
    stdio: 'inherit',
  });
  rmSync(folder, { recursive: true });
}

const asked = process.argv.slice(2);
const wants = (name: string): boolean => asked.length === 0 || asked.includes(name);
mkdirSync(SERVERS_FOLDER, { recursive: true });
for (const name of Object.keys(GO_SERVERS) as (keyof typeof GO_SERVERS)[])
  if (wants(name)) installGo(name);
if (wants('kafka')) installKafka();
