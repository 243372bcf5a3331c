import type { Plan } from '../../plan/plan.ts';

/** Where it is remembered, and who is told, what runs read and wrote. */
export function tellRecording({ lineage, catalog }: Pick<Plan, 'lineage' | 'catalog'>): string[] {
  const events =
    lineage === undefined
      ? []
      : Object.entries(lineage.spec.emit_on).flatMap(([event, isWanted]) =>
          isWanted ? [event] : [],
        );
  const to = lineage?.spec.transport.type === 'file' ? 'written to a file' : 'sent to a collector';
  return [
    ...(lineage === undefined
      ? []
      : [
          `Lineage events of each row (${events.join(', ')}) are ${to}; one that gets lost changes nothing about the run.`,
        ]),
    ...(catalog === undefined
      ? []
      : [
          'What successful runs moved is recorded in a catalog; a server records it in its own, whatever the document names.',
        ]),
  ];
}
