import type { ZodType } from 'zod';

/**
 * How a block is written: what the parser, `/v1/schemas/block/{name}`, the reference pages and the
 * editor schema are derived from.
 */
export interface BlockGrammar<Spec = unknown> {
  /** Its key in the document. */
  readonly name: string;
  /**
   * Its place: inside `pipeline`, at the top level, or in a source preset, where a row may have one
   * of its own for the source that it names.
   */
  readonly placement: 'pipeline' | 'top' | 'source';
  readonly description: string;
  /** Shorter text for its field in the schema of a document; the description when absent. */
  readonly summary?: string;
  readonly schema: ZodType<Spec>;
  /** Values that must parse; run as tests and printed in the docs. */
  readonly examples: readonly unknown[];
  /** Present when a row of the matrix may have one of its own, which replaces the one above. */
  readonly inRows?: {
    readonly description: string;
    /** Whether `null` takes it away from the row; otherwise `null` counts as absent. */
    readonly nullable: boolean;
  };
  /**
   * Escapes stay as written: the block holds configs of parts, or tokens, that are completed later.
   */
  readonly asWritten?: true;
  /** Why a document that is submitted to a server cannot have it; it can when absent. */
  readonly notSubmitted?: {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
  };
}

/** A block that is described by itself; those of sources are described with them. */
export type DescribedBlock<Spec = unknown> = BlockGrammar<Spec> & {
  readonly placement: 'pipeline' | 'top';
};

/** A required block: it holds the sources, sinks and rows. */
export function defineStructure<Spec>(grammar: DescribedBlock<Spec>): DescribedBlock<Spec> {
  return Object.freeze(grammar);
}
