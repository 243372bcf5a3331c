export { redisSink } from './sink.ts';
export { redisSource } from './source.ts';
