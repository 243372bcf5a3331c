import type { Cut } from '../blocks/define-block.ts';
import type { Placed } from '../document/parse/read-blocks.ts';
import type { RowStatus } from '../document/structure/source.ts';
import type { TransformSpec } from '../document/structure/transform.ts';
import type { ResolvedPart } from './resolve-part.ts';

/** A row with its presets, layers and inherited blocks settled; parts are not looked up yet. */
export interface ResolvedRow {
  readonly id: string;
  readonly index: number;
  readonly path: string;
  readonly parent: { readonly row: string; readonly key: string } | undefined;
  readonly dependsOn: readonly string[];
  /** Fan-out rows whose values it runs for; they stand in `dependsOn` too. */
  readonly forEach: readonly string[];
  readonly source: ResolvedPart | undefined;
  readonly sink: ResolvedPart | undefined;
  readonly transforms: readonly Placed<TransformSpec>[];
  /** The blocks that hold for it, its own or those above, by name. */
  readonly blocks: ReadonlyMap<string, Placed<unknown>>;
  /** Blocks that have it run in parts; none for a row that is read in one. */
  readonly cuts: readonly Cut[];
  readonly weight: number | undefined;
  readonly tags: readonly string[];
  readonly status: RowStatus;
  /** Present when it is a sink node of a graph. */
  readonly node?: {
    /** What of the graph keeps its sinks from delivering exactly once. */
    readonly exactlyOnceLimit: string | undefined;
  };
}
