export { azureBlobSink } from './sink.ts';
export { azureBlobSource } from './source.ts';
