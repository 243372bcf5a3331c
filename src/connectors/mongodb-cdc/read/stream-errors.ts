/** What a server says of change streams that it cannot give. */
import { MongoServerError } from 'mongodb';
import { ConnectorError } from '../../../lib/errors.ts';

/** Who says where a stream begins. */
export type PositionFrom = 'bookmark' | 'start_from';

const ANEW = {
  bookmark:
    'remove the bookmark, and load the collections anew; `headgate replicate --restart` does both',
  start_from: 'choose another `start_from`, and load the collections anew',
} as const;
const STOPPED = {
  bookmark: 'where the last run stopped',
  start_from: 'where `start_from` begins',
} as const;

const HISTORY_LOST = 286;
const STREAM_FATAL = 280;
const NOT_A_REPLICA_SET = 40_573;
const TOO_LARGE = new Set([10_334, 17_420]);
/** No image of the document, invalid tokens: `Location50811` is a token of another form. */
const NO_IMAGE = 47;
const BAD_TOKEN = new Set([260, 50_811, 50_795]);

/** The same failure, where it is one of those of change streams, with what to do. */
export function streamError(error: unknown, from: PositionFrom): unknown {
  if (!(error instanceof ConnectorError) || !(error.cause instanceof MongoServerError))
    return error;
  const { cause, message } = error;
  const code = Number(cause.code);
  if (code === HISTORY_LOST)
    return new ConnectorError(
      'missing',
      `the server no longer holds all changes since ${STOPPED[from]}: ${cause.message}`,
      {
        cause,
        hint: `${ANEW[from]}; \`replSetResizeOplog\` with \`minRetentionHours\` makes the server keep changes for longer`,
      },
    );
  if (code === NOT_A_REPLICA_SET)
    return new ConnectorError(
      'refused',
      'the server stands alone, and only replica sets and sharded clusters tell their changes',
      { cause, hint: 'start it with `--replSet`, and call `rs.initiate()`; one member suffices' },
    );
  if (BAD_TOKEN.has(code))
    return new ConnectorError('data', `${message} (the position is ${STOPPED[from]})`, {
      cause,
      hint: ANEW[from],
    });
  if (code === STREAM_FATAL)
    return new ConnectorError('refused', message, {
      cause,
      hint: `\`aggregation_pipeline\` must leave \`_id\` of events as it is; where the stream was another one before: ${ANEW[from]}`,
    });
  if (code === NO_IMAGE)
    return new ConnectorError('missing', message, {
      cause,
      hint: 'a document that is `required` was not kept: `collMod` with `changeStreamPreAndPostImages: {enabled: true}` keeps them from then on; `when_available` gives null instead',
    });
  if (TOO_LARGE.has(code))
    return new ConnectorError('refused', message, {
      cause,
      hint: 'a change with its documents is larger than 16 MiB: leave fields out with `$project` in `aggregation_pipeline`',
    });
  return error;
}
