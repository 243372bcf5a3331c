/** `headgate/client`: the HTTP API for programs. */
export {
  HeadgateClient,
  type ClientOptions,
  type StoredLogItem,
  type StoredLogRange,
  type WaitOptions,
} from './client.ts';
export { HeadgateError } from './errors.ts';
export type { FollowOptions, LogEvent } from './follow-log.ts';
export type * from './generated/api.ts';
