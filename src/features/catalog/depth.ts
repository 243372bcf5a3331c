/** Steps from the root of a lineage graph. */
export const DEFAULT_DEPTH = 5;
export const MAX_DEPTH = 32;
