import type { JsonValue } from '../../lib/text/json.ts';

/** Records of one answer, or of a part of it. */
export interface Chunk {
  readonly records: readonly JsonValue[];
  /** Encoded size, where the answer tells it. */
  readonly bytes?: number | undefined;
  /** Where a later run could go on, with `persist_cursor`. */
  readonly cursor?: JsonValue | undefined;
}
