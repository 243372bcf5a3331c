/** What reading and writing need to know of the types of a table, whatever its format calls them. */
import type { SchemaNode } from '../_files/parquet/parquet-values.ts';

export type LakeType =
  /** `isInstant`: of timestamps, whether they are moments or times of a wall clock. */
  | { readonly is: 'leaf'; readonly isInstant?: boolean }
  | { readonly is: 'list'; readonly item: LakeType; readonly hasNulls: boolean }
  | { readonly is: 'map'; readonly value: LakeType; readonly hasNulls: boolean }
  | { readonly is: 'struct'; readonly fields: readonly LakeField[] };

export interface LakeField {
  readonly name: string;
  readonly type: LakeType;
  readonly nullable: boolean;
  /** Where it is in a file; `undefined` in one that is older than the field. */
  readonly find: (nodes: readonly SchemaNode[]) => SchemaNode | undefined;
}
