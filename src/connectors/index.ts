import type { SinkDefinition } from '../kit/sink.ts';
import type { SourceDefinition } from '../kit/source.ts';
import { airbyteSink, airbyteSource } from './airbyte/index.ts';
import { azureBlobSink, azureBlobSource } from './azure-blob/index.ts';
import { bigquerySink, bigquerySource } from './bigquery/index.ts';
import { clickhouseSink, clickhouseSource } from './clickhouse/index.ts';
import { csvSink, csvSource } from './csv/index.ts';
import { databricksSink, databricksSource } from './databricks/index.ts';
import { deltaSink, deltaSource } from './delta/index.ts';
import { duckdbSink, duckdbSource } from './duckdb/index.ts';
import { dynamodbSink, dynamodbSource } from './dynamodb/index.ts';
import { elasticsearchSink, elasticsearchSource } from './elasticsearch/index.ts';
import { fileSink, fileSource } from './file/index.ts';
import { gcsSink, gcsSource } from './gcs/index.ts';
import { graphqlSource } from './graphql/index.ts';
import { grpcSource } from './grpc/index.ts';
import { httpSink } from './http/index.ts';
import { icebergSink, icebergSource } from './iceberg/index.ts';
import { jsonlSink, jsonlSource } from './jsonl/index.ts';
import { kafkaSink, kafkaSource } from './kafka/index.ts';
import { kinesisSink, kinesisSource } from './kinesis/index.ts';
import { mongodbCdcSource } from './mongodb-cdc/index.ts';
import { mongodbSink, mongodbSource } from './mongodb/index.ts';
import { mqttSink, mqttSource } from './mqtt/index.ts';
import { mssqlCdcSource } from './mssql-cdc/index.ts';
import { mssqlSink, mssqlSource } from './mssql/index.ts';
import { mysqlCdcSource } from './mysql-cdc/index.ts';
import { mysqlSink, mysqlSource } from './mysql/index.ts';
import { natsSink, natsSource } from './nats/index.ts';
import { oracleSink, oracleSource } from './oracle/index.ts';
import { parquetSink, parquetSource } from './parquet/index.ts';
import { postgresCdcSource } from './postgres-cdc/index.ts';
import { postgresSink, postgresSource } from './postgres/index.ts';
import { pubsubSink, pubsubSource } from './pubsub/index.ts';
import { rabbitmqSink, rabbitmqSource } from './rabbitmq/index.ts';
import { redisSink, redisSource } from './redis/index.ts';
import { redshiftSink, redshiftSource } from './redshift/index.ts';
import { restSource } from './rest/index.ts';
import { s3Sink, s3Source } from './s3/index.ts';
import { sftpSink, sftpSource } from './sftp/index.ts';
import { singerSink, singerSource } from './singer/index.ts';
import { snowflakeSink, snowflakeSource } from './snowflake/index.ts';
import { spannerSink, spannerSource } from './spanner/index.ts';
import { sqliteSink, sqliteSource } from './sqlite/index.ts';
import { sqsSink, sqsSource } from './sqs/index.ts';
import { stdoutSink } from './stdout/index.ts';
import { webhookSource } from './webhook/index.ts';
import { websocketSource } from './websocket/index.ts';
import { xmlSource } from './xml/index.ts';

/** Every source of this build, sorted by type. */
export const SOURCES: readonly SourceDefinition[] = [
  airbyteSource,
  azureBlobSource,
  bigquerySource,
  clickhouseSource,
  csvSource,
  databricksSource,
  deltaSource,
  duckdbSource,
  dynamodbSource,
  elasticsearchSource,
  fileSource,
  gcsSource,
  graphqlSource,
  grpcSource,
  icebergSource,
  jsonlSource,
  kafkaSource,
  kinesisSource,
  mongodbCdcSource,
  mongodbSource,
  mqttSource,
  mysqlSource,
  mssqlSource,
  mssqlCdcSource,
  mysqlCdcSource,
  natsSource,
  oracleSource,
  parquetSource,
  postgresSource,
  postgresCdcSource,
  pubsubSource,
  rabbitmqSource,
  redisSource,
  redshiftSource,
  restSource,
  s3Source,
  sftpSource,
  singerSource,
  snowflakeSource,
  spannerSource,
  sqliteSource,
  sqsSource,
  webhookSource,
  websocketSource,
  xmlSource,
];

/** Every sink of this build, sorted by type. */
export const SINKS: readonly SinkDefinition[] = [
  airbyteSink,
  azureBlobSink,
  bigquerySink,
  clickhouseSink,
  csvSink,
  databricksSink,
  deltaSink,
  duckdbSink,
  dynamodbSink,
  elasticsearchSink,
  fileSink,
  gcsSink,
  httpSink,
  icebergSink,
  jsonlSink,
  kafkaSink,
  kinesisSink,
  mongodbSink,
  mqttSink,
  mssqlSink,
  mysqlSink,
  natsSink,
  oracleSink,
  parquetSink,
  postgresSink,
  pubsubSink,
  rabbitmqSink,
  redisSink,
  redshiftSink,
  s3Sink,
  sftpSink,
  singerSink,
  snowflakeSink,
  spannerSink,
  sqliteSink,
  sqsSink,
  stdoutSink,
];
