import type { SinkRollback } from '../../kit/rollback.ts';
import { RefusedError } from '../../lib/errors.ts';
import { resolvePart } from '../../plan/resolve.ts';
import { wrapConnectorError } from '../failure.ts';
import { partContext } from '../row/parts.ts';
import { tokensAt, type FoundRun, type Opening } from './find-run.ts';
import { isSame } from './rollback-log.ts';

/** The sink as the run had it: tokens have the values that they had then. */
export async function openSinkRollback(
  options: Opening,
  { row, marker }: Pick<FoundRun, 'row' | 'marker'>,
  closers: AsyncDisposableStack,
): Promise<SinkRollback> {
  const { definition, type } = row.sink;
  const config = resolvePart(row.sink, tokensAt(new Date(marker.clock), marker.zone));
  const uri = definition.datasetUri(config);
  if (uri !== marker.sink_uri) {
    throw new RefusedError(
      'bad_config',
      `the run wrote to ${marker.sink_uri}, but row \`${row.id}\` now writes to ${uri}`,
      {
        hint: 'use the document the run was made with',
      },
    );
  }
  const { key } = definition.capabilities(config);
  if (marker.key !== undefined && !isSame([...marker.key], [...key])) {
    const [then, now] = [marker.key, key].map(
      (names) => names.map((name) => `\`${name}\``).join(', ') || 'nothing',
    );
    throw new RefusedError(
      'bad_config',
      `the run identified records by ${then}, but row \`${row.id}\` now identifies them by ${now}`,
      {
        hint: 'use the document the run was made with',
      },
    );
  }
  try {
    const sink = await definition.open(config, {
      ...partContext({ ...options, row }),
      role: 'main',
      runId: marker.run_id,
    });
    closers.defer(() => sink.close());
    if (sink.rollback !== undefined) return withSinkErrors(sink.rollback, type);
  } catch (error) {
    throw wrapConnectorError('Sink', type, error);
  }
  throw new RefusedError(
    'bad_config',
    `the sink \`${type}\` of row \`${row.id}\` cannot roll back a run with this config`,
    {
      hint: 'use the document the run was made with',
    },
  );
}

/** Failures of the sink are reported as such, not as those of the state store. */
function withSinkErrors(sink: SinkRollback, type: string): SinkRollback {
  const rethrow = (error: unknown): never => {
    throw wrapConnectorError('Sink', type, error);
  };
  return {
    record: (settings) => sink.record(settings).catch(rethrow),
    apply: (request) => sink.apply(request).catch(rethrow),
    applied: (runId) => sink.applied(runId).catch(rethrow),
    forget: (runIds) => sink.forget(runIds).catch(rethrow),
  };
}
