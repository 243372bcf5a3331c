/** A sink node runs as an ordinary row whose source is the edge that leads to it. */
import type { Page } from '../../kit/page.ts';
import { defineSource, type Source } from '../../kit/source.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { Channel } from './channel.ts';
import { assertSamePage, type Positions } from './positions.ts';
import type { JsonValue } from '../../lib/text/json.ts';

export interface EdgeReader {
  readonly channel: Channel;
  readonly positions: Positions;
  /** Called when an earlier node has failed. */
  readonly onBroken: () => void;
  /** Called when everything up to a bookmark is durable in this sink. */
  readonly acknowledge: (bookmark: JsonValue) => Promise<void>;
}

/** The row of a sink node, reading its edge. */
export function rowReading(row: PlannedRow, reader: EdgeReader): PlannedRow {
  const { role: _role, ...described } = row.source.definition;
  const definition = defineSource({
    ...described,
    open: (_config, { signal }) => {
      const { channel } = reader;
      if (signal.aborted) channel.leave();
      signal.addEventListener('abort', () => channel.leave(), { once: true });
      return Promise.resolve(sourceOf(row.id, reader));
    },
  });
  return { ...row, source: { ...row.source, definition } };
}

function sourceOf(sink: string, { channel, positions, onBroken, acknowledge }: EdgeReader): Source {
  return {
    async *pages(): AsyncGenerator<Page> {
      const ahead = positions.ahead(sink);
      let seen = 0;
      for (;;) {
        const page = await channel.next().catch((error: unknown) => {
          onBroken();
          throw error;
        });
        if (page === undefined) return;
        if (page.bookmark !== undefined) {
          seen += 1;
          if (seen === ahead.pages) assertSamePage(page.bookmark, ahead.bookmark);
        }
        yield page;
      }
    },
    acknowledge,
    close: () => {
      channel.leave();
      return Promise.resolve();
    },
  };
}
