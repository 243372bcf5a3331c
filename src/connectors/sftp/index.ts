export { sftpSink } from './sink.ts';
export { sftpSource } from './source.ts';
