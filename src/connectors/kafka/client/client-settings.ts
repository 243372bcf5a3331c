/** What the client is told. Properties of documents change it. */
export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
export type Acks = 'all' | 'leader' | 'none';

/** Files that are read before the client is made. */
export interface TlsFiles {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  passphrase?: string | undefined;
  rejectUnauthorized?: boolean;
  checksHost?: boolean;
}

export interface Sasl {
  mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  username: string;
  password: string;
}

export interface ClientSettings {
  clientId: string;
  brokers: string[];
  clientRack?: string;
  connectMs: number;
  requestMs: number;
  retries: number;
  retryMs: number;
  metadataMs?: number;
  createsTopics: boolean;
  sasl?: Sasl | undefined;
  tls?: TlsFiles | undefined;
  fetch: { minBytes: number; maxBytes: number; partitionBytes: number; maxWaitMs: number };
  readsUncommitted: boolean;
  acks: Acks;
  compression: Compression;
  isIdempotent: boolean;
  messageMs: number;
  transactionMs: number;
}
