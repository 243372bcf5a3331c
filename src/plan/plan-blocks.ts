/** What the blocks of a document become: for its rows, and for the plan as a whole. */
import type {
  BlockDefinition,
  BlockTools,
  PlanInMaking,
  RowEvent,
} from '../blocks/define-block.ts';
import type { Document } from '../document/document.ts';
import { parsedBlock, type Placed } from '../document/parse/read-blocks.ts';
import type { SourceDefinition } from '../kit/source.ts';
import type { AssembledRow } from './assembled-row.ts';
import type { RowContext } from './row-context.ts';
import type { Plan, PlannedBlocks, PlannedRow } from './plan.ts';
import { plainPart } from './resolve-part.ts';
import { checkAuthRef } from './rules/auth.ts';

/** A block that holds for a row. */
export interface RowBlock {
  readonly definition: BlockDefinition;
  readonly path: string;
  readonly prepared: unknown;
  /** `undefined` where nothing of it holds for this row. */
  readonly planned: unknown;
}

export class BlockPlanner {
  readonly #context: RowContext;
  readonly #tools: BlockTools;
  /** By place: rows that share a block share what is worked out for it. */
  readonly #prepared = new Map<string, unknown>();

  constructor(context: RowContext, { tree }: Pick<Document, 'tree'>) {
    this.#context = context;
    this.#tools = toolsOf(context, tree);
    for (const definition of context.definitions) this.preparedOf(definition);
  }

  /** What the document as a whole has of a block. */
  preparedOf<Prepared>(
    definition: BlockDefinition<unknown, unknown, Prepared>,
  ): Prepared | undefined {
    const placed = parsedBlock(this.#context.blocks, definition);
    return placed === undefined ? undefined : (this.#prepare(definition, placed) as Prepared);
  }

  ofRow(row: AssembledRow): readonly RowBlock[] {
    return this.#context.definitions.flatMap((definition) => {
      const placed = row.resolved.blocks.get(definition.name);
      const prepared = placed === undefined ? undefined : this.#prepare(definition, placed);
      if (placed === undefined || prepared === undefined) return [];
      const planned = definition.forRow === undefined ? prepared : definition.forRow(prepared, row);
      return [{ definition, path: placed.path, prepared, planned }];
    });
  }

  ofPlan(): PlannedBlocks {
    return Object.fromEntries(
      this.#ofDocument()
        .filter(({ definition }) => definition.plannedFor === 'plan')
        .map(({ definition, prepared }) => [definition.name, prepared]),
    );
  }

  /** Whether a block makes every row remember something. */
  everyRowUsesState(): boolean {
    return this.#ofDocument().some(
      ({ definition, prepared }) =>
        definition.plannedFor === 'plan' && definition.usesState?.(prepared) === true,
    );
  }

  checkPlan(rows: readonly PlannedRow[], topology: Plan['topology']): void {
    const { definitions, issues } = this.#context;
    const plan: PlanInMaking = { rows, topology, events: definitions.flatMap(eventsOf) };
    for (const { definition, path, prepared } of this.#ofDocument())
      definition.checkPlan?.(prepared, plan, { path, issues });
  }

  #ofDocument(): readonly Omit<RowBlock, 'planned'>[] {
    const { definitions, blocks } = this.#context;
    return definitions.flatMap((definition) => {
      const placed = parsedBlock(blocks, definition);
      const prepared = placed === undefined ? undefined : this.#prepare(definition, placed);
      return placed === undefined || prepared === undefined
        ? []
        : [{ definition, path: placed.path, prepared }];
    });
  }

  #prepare(definition: BlockDefinition, placed: Placed<unknown>): unknown {
    if (definition.prepare === undefined) return placed.value;
    if (!this.#prepared.has(placed.path))
      this.#prepared.set(placed.path, definition.prepare(placed, this.#tools));
    return this.#prepared.get(placed.path);
  }
}

function toolsOf(
  { blocks, parts, planner, issues }: RowContext,
  tree: Document['tree'],
): BlockTools {
  const presets = [...blocks.pipeline.sinks.keys()];
  return {
    issues,
    tree,
    isOneRow: blocks.matrix === undefined && blocks.pipeline.nodes === undefined,
    sinks: {
      names: [...presets, ...parts.sinks.types()],
      has: (name) => presets.includes(name) || parts.sinks.get(name) !== undefined,
    },
    planSource: (given) => {
      const part = plainPart(given);
      checkAuthRef(part, blocks, issues);
      return planner.plan<SourceDefinition>(part, parts.sources, 'source')?.plan;
    },
  };
}

/** A block that shapes rows itself is no member of theirs, and judges the row alone. */
function eventsOf({ name, plannedFor, events = [] }: BlockDefinition): RowEvent[] {
  return events.map(({ kind, needs, canHappen }) => ({
    kind,
    needs,
    canHappen: (row) => {
      const planned = row.blocks[name];
      return (plannedFor === undefined || planned !== undefined) && canHappen(planned, row);
    },
  }));
}

/** The members of a row plan. */
export function plannedBlocks(own: readonly RowBlock[]): PlannedBlocks {
  return Object.freeze(
    Object.fromEntries(
      own
        .filter(({ planned }) => planned !== undefined)
        .map(({ definition, planned }) => [definition.name, planned]),
    ),
  );
}

/** Blocks of a row that send records to the dead-letter queue. */
export function quarantining(own: readonly RowBlock[]): readonly RowBlock[] {
  return own.filter(
    ({ definition, planned }) =>
      planned !== undefined && definition.quarantines?.(planned) === true,
  );
}
