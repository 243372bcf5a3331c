/** The position from which changes complete what a query reads of the tables. */
import type { SourceContext } from '../../kit/context.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { readAgain } from '../_brokers/read-again.ts';
import type { Link } from '../_mssql/connection.ts';
import type { MssqlCdcConfig } from './config.ts';
import { Links } from './links.ts';
import { bookmarkOf, storedPositions } from './read/position.ts';
import { askKept, checkEnabled, checkKept, endOf, findInstances } from './server.ts';

/**
 * Behind what is captured now. That was committed before, so a query sees it; what was committed and
 * is captured later comes twice, as a row and as a change.
 */
export function takeAnchor(config: MssqlCdcConfig, context: SourceContext): Promise<JsonValue> {
  const names = config.capture_instances;
  return asking(config, context, async (link) => {
    await checkEnabled(link);
    await findInstances(link, names);
    const kept = await askKept(link, names);
    return bookmarkOf(new Map(names.map((name) => [name, endOf(kept, name)])));
  });
}

export function checkAnchor(
  config: MssqlCdcConfig,
  context: SourceContext,
  bookmark: JsonValue,
): Promise<void> {
  const names = config.capture_instances;
  return asking(config, context, async (link) => {
    checkKept(await askKept(link, names), storedPositions(bookmark, names));
  });
}

function asking<T>(
  config: MssqlCdcConfig,
  context: SourceContext,
  ask: (link: Link) => Promise<T>,
): Promise<T> {
  return readAgain(context)(async () => {
    const links = new Links(config, context);
    try {
      return await links.using('change data capture cannot be asked', ask);
    } finally {
      links.close();
    }
  });
}
