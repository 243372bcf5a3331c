/** What the blocks of a document become: for its rows, and for the plan as a whole. */
import type {
  BlockDefinition,
  BlockTools,
  GrantedTokens,
  PlanInMaking,
  RowEvent,
  RowPlace,
  RunIdNeed,
  TokenUse,
} from '../blocks/define-block.ts';
import type { AssembledMembers, PlanMembers, RowMembers } from '../blocks/row-members.ts';
import type { Document } from '../document/document.ts';
import { parsedBlock, type Placed } from '../document/parse/read-blocks.ts';
import type { SinkDefinition } from '../kit/sink.ts';
import type { SourceDefinition } from '../kit/source.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { AssembledRow, UnjudgedRow } from './assembled-row.ts';
import { definitionsWith } from './definitions-with.ts';
import type { Planning } from './planning.ts';
import type { PlannedBlocks } from './plan.ts';
import type { AssembledPart } from './plan-part.ts';
import { plainPart } from './resolve-part.ts';
import type { ResolvedRow } from './resolved-row.ts';
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
  readonly #context: Planning;
  readonly #tools: BlockTools;
  /** By place: rows that share a block share what is worked out for it. */
  readonly #prepared = new Map<string, unknown>();
  readonly #assembled = new Map<string, Partial<AssembledRow>>();

  constructor(context: Planning, { tree }: Pick<Document, 'tree'>, cpus: number) {
    this.#context = context;
    this.#tools = { ...toolsOf(context, tree), cpus, needsRunId: () => this.#runIdNeed() };
    for (const definition of definitionsWith(context.definitions, 'checkDocument'))
      definition.checkDocument(parsedBlock(context.blocks, definition), this.#tools);
    for (const definition of context.definitions) this.preparedOf(definition);
  }

  /** What the document as a whole has of a block. */
  preparedOf<Prepared>(
    definition: BlockDefinition<unknown, unknown, Prepared>,
  ): Prepared | undefined {
    const placed = parsedBlock(this.#context.blocks, definition);
    return placed === undefined ? undefined : (this.#prepare(definition, placed) as Prepared);
  }

  /** The parts that the blocks of a row name. */
  assemble({ blocks }: ResolvedRow): Partial<AssembledMembers> {
    const members: Partial<AssembledRow>[] = [];
    for (const definition of definitionsWith(this.#context.definitions, 'assemble')) {
      const given = blocks.get(definition.name);
      if (given === undefined) continue;
      const place = `${definition.name} ${given.path}`;
      let found = this.#assembled.get(place);
      if (found === undefined)
        this.#assembled.set(place, (found = definition.assemble(given, this.#tools)));
      members.push(found);
    }
    return Object.assign({}, ...members) as Partial<AssembledMembers>;
  }

  /** What follows once all of them are known. The block `delivery` is in every build. */
  conclude(row: UnjudgedRow): AssembledRow {
    const concluded = { ...row };
    for (const definition of definitionsWith(this.#context.definitions, 'conclude')) {
      const given = row.resolved.blocks.get(definition.name);
      Object.assign(concluded, definition.conclude(given, row, this.#tools));
    }
    return concluded as AssembledRow;
  }

  /** The members of a planned row that its blocks decide. */
  membersOfRow(row: AssembledRow): RowMembers {
    const members = definitionsWith(this.#context.definitions, 'planRow').map((definition) =>
      definition.planRow(row.resolved.blocks.get(definition.name), row),
    );
    return Object.assign({}, ...members) as RowMembers;
  }

  membersOfPlan(): PlanMembers {
    const members = definitionsWith(this.#context.definitions, 'planDocument').map((definition) =>
      definition.planDocument(parsedBlock(this.#context.blocks, definition), this.#tools),
    );
    return Object.assign({}, ...members) as PlanMembers;
  }

  #runIdNeed(): RunIdNeed | undefined {
    return definitionsWith(this.#context.definitions, 'needsRunId').find(
      (definition) => this.preparedOf(definition) !== undefined,
    )?.needsRunId;
  }

  checkRow(row: AssembledRow, own: readonly RowBlock[]): void {
    const { definitions, issues, name } = this.#context;
    const place: RowPlace = {
      issues,
      pipeline: name,
      quarantining: [
        ...quarantining(own).map(({ definition, path }) => ({ name: definition.name, path })),
        ...[row.source, ...row.transforms]
          .filter((part) => isQuarantining(part))
          .map(({ plan: { type, path } }) => ({ name: type, path })),
      ],
    };
    for (const definition of definitionsWith(definitions, 'checkEveryRow'))
      definition.checkEveryRow(row.resolved.blocks.get(definition.name), row, place);
    for (const { definition, path, planned } of own)
      if (planned !== undefined) definition.checkRow?.(planned, row, { path, issues });
  }

  checkRows(rows: readonly AssembledRow[]): void {
    const { definitions, issues } = this.#context;
    const usesState = this.#everyRowUsesState();
    const storesMore = (row: AssembledRow): boolean =>
      usesState ||
      this.ofRow(row).some(({ definition, prepared }) => definition.usesState?.(prepared) === true);
    for (const definition of definitionsWith(definitions, 'checkRows'))
      definition.checkRows(rows, { issues, storesMore });
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
  #everyRowUsesState(): boolean {
    return this.#ofDocument().some(
      ({ definition, prepared }) =>
        definition.plannedFor === 'plan' && definition.usesState?.(prepared) === true,
    );
  }

  checkPlan(found: Omit<PlanInMaking, 'events'>): void {
    const { definitions, issues } = this.#context;
    const plan: PlanInMaking = { ...found, events: definitions.flatMap(eventsOf) };
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
  { blocks, parts, planner, issues }: Planning,
  tree: Document['tree'],
): Omit<BlockTools, 'cpus' | 'needsRunId'> {
  const presets = [...blocks.pipeline.sinks.keys()];
  return {
    issues,
    tree,
    isOneRow: blocks.matrix === undefined && blocks.pipeline.nodes === undefined,
    sinks: {
      // Asking for all types loads packages.
      get names() {
        return [...presets, ...parts.sinks.types()];
      },
      has: (name) => presets.includes(name) || parts.sinks.get(name) !== undefined,
    },
    planSource: (given) => {
      const part = plainPart(given);
      checkAuthRef(part, blocks, issues);
      return planner.plan<SourceDefinition>(part, parts.sources, 'source')?.plan;
    },
    assembleSink: (given) => planner.plan<SinkDefinition>(plainPart(given), parts.sinks, 'sink'),
    assembleState: (given) =>
      planner.plan<StateStoreDefinition>(plainPart(given), parts.states, 'state store'),
  };
}

/** A block that shapes rows itself is no member of theirs, and judges the row alone. */
function eventsOf({ name, plannedFor, events = [] }: BlockDefinition): RowEvent[] {
  return events.map(({ kind, needs, canHappen }) => ({
    kind,
    needs,
    canHappen: (row) => {
      const planned = row.blocks[name];
      const isMember = plannedFor === undefined || plannedFor === 'members';
      return (isMember || planned !== undefined) && canHappen(planned, row);
    },
  }));
}

/** The members of a row plan. */
export function plannedBlocks(own: readonly RowBlock[]): PlannedBlocks {
  return Object.freeze(
    Object.fromEntries(
      own
        .filter(
          ({ definition, planned }) => definition.plannedFor === 'rows' && planned !== undefined,
        )
        .map(({ definition, planned }) => [definition.name, planned]),
    ),
  );
}

/** Blocks of a row that send records to the dead-letter queue. */
function quarantining(own: readonly RowBlock[]): readonly RowBlock[] {
  return own.filter(
    ({ definition, planned }) =>
      planned !== undefined && definition.quarantines?.(planned) === true,
  );
}

/** Whether a source or transform sends records to the dead-letter queue. */
export function isQuarantining({
  judged,
  plan: { definition },
}: AssembledPart<SourceDefinition> | AssembledPart<TransformDefinition>): boolean {
  return judged !== undefined && definition.quarantines?.(judged) === true;
}

/** The tokens that the blocks of a build fill in for a row, by their root. */
export function grantedTokens(
  { definitions, backfill }: Pick<Planning, 'definitions' | 'backfill'>,
  blocks: ReadonlyMap<string, Placed<unknown>>,
): ReadonlyMap<string, GrantedTokens> {
  const granted = new Map<string, GrantedTokens>();
  for (const { name, tokens } of definitionsWith(definitions, 'tokens')) {
    const found = tokens.granted(blocks.get(name), { backfill });
    if (found !== undefined) granted.set(tokens.root, found);
  }
  return granted;
}

/** Tokens that stand in the blocks of a row. */
export function tokensInBlocks(
  definitions: readonly BlockDefinition[],
  blocks: ReadonlyMap<string, Placed<unknown>>,
): readonly TokenUse[] {
  return definitionsWith(definitions, 'tokensIn').flatMap((definition) => {
    const given = blocks.get(definition.name);
    return given === undefined ? [] : definition.tokensIn(given);
  });
}
