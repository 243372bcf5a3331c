/** Words under which people look for a connector that has another name. */
export const SOUGHT: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    amqp: ['rabbitmq'],
    api: ['rest'],
    avro: ['file'],
    azure: ['azure-blob'],
    blob: ['azure-blob'],
    cockroachdb: ['postgres'],
    console: ['stdout'],
    elastic: ['elasticsearch'],
    excel: ['file'],
    ftp: ['sftp'],
    gs: ['gcs'],
    http: ['rest'],
    https: ['rest', 'http'],
    json: ['jsonl', 'file'],
    mariadb: ['mysql'],
    minio: ['s3'],
    mongo: ['mongodb', 'mongodb-cdc'],
    ndjson: ['jsonl'],
    pg: ['postgres'],
    print: ['stdout'],
    redpanda: ['kafka'],
    'sql-server': ['mssql'],
    sqlserver: ['mssql'],
    soap: ['xml'],
    ssh: ['sftp'],
    timescaledb: ['postgres'],
    ws: ['websocket'],
    xls: ['file'],
    xlsx: ['file'],
  }),
);

/** `did you mean "mysql"?`, for a word that is none of the available types. */
export function soughtHint(word: string, available: readonly string[]): string | undefined {
  const sought = (SOUGHT.get(word.toLowerCase()) ?? []).filter((type) => available.includes(type));
  if (sought.length === 0) return undefined;
  return `did you mean ${sought.map((type) => `\`${type}\``).join(' or ')}?`;
}
