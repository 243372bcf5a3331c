/** How rows write, for the rules that ask. */
import { replacedOutput, type SinkCapabilities } from '../../kit/sink.ts';
import type { SourceCapabilities } from '../../kit/source.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';

/** Also those that a run would leave out. */
export function everyRow({ rows, unselected }: Plan): readonly PlannedRow[] {
  return [...rows, ...unselected].toSorted((one, two) => one.index - two.index);
}

/** `undefined` where it is known at run time only. */
export function writingOf({ sink }: PlannedRow): SinkCapabilities | undefined {
  const config = sink.parsed ?? sink.judged;
  return config === undefined ? undefined : sink.definition.capabilities(config);
}

export function readingOf({ source }: PlannedRow): SourceCapabilities | undefined {
  const config = source.parsed ?? source.judged;
  return config === undefined ? undefined : source.definition.capabilities(config);
}

/** Whether records are added to what is there, neither by key nor in its place. */
export function addsOnly(row: PlannedRow): boolean {
  const { sink } = row;
  const config = sink.parsed ?? sink.judged;
  if (config === undefined || sink.type === 'stdout') return false;
  return (
    writingOf(row)?.writeMode === 'append' && replacedOutput(sink.definition, config) === undefined
  );
}

/** Whether a run goes on where the last one stopped. */
export function goesOn(row: PlannedRow): boolean {
  return row.state !== undefined && readingOf(row)?.bookmarks !== false;
}
