import { contractBlock } from '../../blocks/contract/index.ts';
import { qualityBlock } from '../../blocks/quality/index.ts';
import { RecordError, RunError } from '../../lib/errors.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { documentPlace, type OutcomeError } from '../../wire/outcome.ts';

/** The place in the document that a failure of a row is about. */
export function documentPlaceOf(
  failure: unknown,
  row: PlannedRow,
  plan: Pick<Plan, 'locate'>,
): Pick<OutcomeError, 'path' | 'line' | 'file'> {
  const path = pathOf(failure, row);
  if (path === undefined) return {};
  const found = plan.locate?.(path);
  return {
    path,
    ...(found === undefined ? {} : { line: found.line }),
    ...(found?.file === undefined ? {} : { file: found.file }),
  };
}

/** The same error, with its place for whoever prints it. */
export function withPlace(error: unknown, row: PlannedRow, plan: Pick<Plan, 'locate'>): unknown {
  if (!(error instanceof RunError)) return error;
  const at = documentPlace(documentPlaceOf(error, row, plan));
  if (at === undefined) return error;
  const { kind, code, message, hint, cause, index } = error;
  return new RunError(kind, code, message, {
    cause,
    at,
    ...(hint === undefined ? {} : { hint }),
    ...(index === undefined ? {} : { index }),
  });
}

function pathOf(failure: unknown, row: PlannedRow): string | undefined {
  if (!(failure instanceof RunError || failure instanceof RecordError)) return undefined;
  switch (failure.kind) {
    case 'Source':
      return row.source.path;
    case 'Sink':
      return isOfQueue(failure) ? row.dlq?.sink.path : row.sink.path;
    case 'State':
      return row.state?.path;
    // Connectors of both sides fail in these ways; the message begins with the side.
    case 'Auth':
    case 'RateLimited':
    case 'HttpStatus':
      if (failure.message.startsWith('source `')) return row.source.path;
      return isOfQueue(failure) ? row.dlq?.sink.path : row.sink.path;
    case 'Transform':
      return row.transforms.find(({ path }) => failure.message.includes(`\`${path}\``))?.path;
    case 'QualityFailure':
      return joinPath('pipeline', qualityBlock.name);
    case 'ContractViolation':
      return joinPath('pipeline', contractBlock.name);
    default:
      return undefined;
  }
}

function isOfQueue({ message }: Error): boolean {
  return message.includes('(dead-letter queue)');
}
