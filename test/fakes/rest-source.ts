/** Reading a rest source in tests. */
import type { JsonObject } from '../../src/lib/text/json.ts';
import { restSource } from '../../src/connectors/rest/index.ts';
import * as sources from './run-source.ts';

export const run = (config: JsonObject, options: sources.RunOptions = {}): Promise<sources.Run> =>
  sources.runSource(restSource, config, options);

export const issuesOf = (config: JsonObject): readonly sources.ConfigIssue[] =>
  sources.issuesOf(restSource, config);
