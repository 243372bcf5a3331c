/** The position from which changes complete what a query reads of the collections. */
import type { SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { readAgain } from '../_brokers/read-again.ts';
import type { MongodbCdcConfig } from './config.ts';
import { linkTo } from './link.ts';
import { ChangeEvents, type StreamOptions } from './read/change-events.ts';
import { bookmarkOf, startMark, storedPosition, type StreamPosition } from './read/position.ts';

export async function takeAnchor(
  config: MongodbCdcConfig,
  context: SourceContext,
): Promise<JsonValue> {
  return bookmarkOf(await presentPosition(config, context), startMark(config));
}

/**
 * The end of the log that a majority has: whoever reads from the primary sees as much at least. No
 * change passes the filter, so the answer is the position behind all of them.
 */
export function presentPosition(
  config: MongodbCdcConfig,
  context: SourceContext,
): Promise<StreamPosition> {
  const nothing: MongodbCdcConfig = {
    ...config,
    start_from: { type: 'now' },
    operation_types: [],
    aggregation_pipeline: [{ $match: { operationType: 'none' } }],
  };
  const asked = { config: nothing, position: undefined, from: 'start_from' } as const;
  return asking(asked, context, ({ token }) => {
    if (token !== undefined) return { token, isInvalidate: false };
    throw new ConnectorError('refused', 'the server does not tell its present position', {
      hint: 'servers before 4.0.7 do not; use a newer one',
    });
  });
}

export async function checkAnchor(
  config: MongodbCdcConfig,
  context: SourceContext,
  bookmark: JsonValue,
): Promise<void> {
  const { position } = storedPosition(bookmark);
  await asking({ config, position, from: 'bookmark' }, context, () => {});
}

/** Until the server has answered once. */
export function asking<T>(
  options: Omit<StreamOptions, 'link' | 'maxAwaitMs'>,
  context: SourceContext,
  use: (events: ChangeEvents) => T,
): Promise<T> {
  return readAgain(context)(async () => {
    const link = linkTo(options.config, context);
    let events: ChangeEvents | undefined;
    try {
      events = await ChangeEvents.open({ ...options, link, maxAwaitMs: 1 });
      await events.next();
      return use(events);
    } finally {
      await events?.close();
      await link.close();
    }
  });
}
