/** Whether and how the destination of a row can be compared with its source. */
import { verifyDefaults, type VerifySpec } from './schema.ts';
import type { SinkCapabilities } from '../../kit/sink.ts';
import { canonicalJson } from '../../lib/text/json.ts';
import { inOneSpelling } from '../../lib/http/local-address.ts';
import type { Plan, PlannedRow, PlannedSource } from '../../plan/plan.ts';

/** How destinations are compared with their sources. */
export interface VerifyPlan {
  readonly spec: Omit<VerifySpec, 'destination'>;
  /** Reads the destination; sinks say how when absent. */
  readonly destination: PlannedSource | undefined;
}

/** The default of a row without `verify`: it is compared only on request. */
export const verifyByDefault = (): VerifyPlan => ({
  spec: { ...verifyDefaults(), after_run: false },
  destination: undefined,
});

/** The part of a plan that decides. */
export interface VerifyScope {
  readonly topology?: Plan['topology'] | undefined;
  /**
   * Every row of the document: what one of them wrote earlier stands in its destination, whether it
   * runs now or not.
   */
  readonly rows: readonly PlannedRow[];
}

export interface Verification {
  readonly spec: VerifyPlan['spec'];
  readonly key: readonly string[];
  /** Reads the destination; the sink says how when absent. */
  readonly destination: PlannedSource | undefined;
}

export interface Obstacle {
  readonly message: string;
  readonly hint: string;
}

export function verificationBy(
  { spec, destination }: VerifyPlan,
  row: PlannedRow,
  scope: VerifyScope,
): Verification | Obstacle {
  const config = row.sink.parsed ?? row.sink.judged;
  const writes: SinkCapabilities | undefined =
    config === undefined ? undefined : row.sink.definition.capabilities(config);
  const obstacle =
    shapeObstacle(row, scope) ??
    shardObstacle(row, spec) ??
    modeObstacle(row, writes) ??
    sharingObstacle(row, scope.rows) ??
    (destination === undefined &&
    config !== undefined &&
    row.sink.definition.readBack?.(config) === undefined
      ? unreadable(row)
      : undefined);
  if (obstacle !== undefined) return obstacle;
  const key = spec.key ?? writes?.key ?? [];
  // A config that is known only in a run may still bring one.
  if (key.length === 0 && writes !== undefined) return keyless(row);
  return { spec, key, destination };
}

export function isObstacle(verification: Verification | Obstacle): verification is Obstacle {
  return 'message' in verification;
}

function shapeObstacle(
  { id, role, partition }: PlannedRow,
  { topology }: VerifyScope,
): Obstacle | undefined {
  if (topology !== undefined) {
    return {
      message: 'a graph of nodes has no rows whose source could be read by itself',
      hint: 'verify rows of a matrix',
    };
  }
  if (role !== 'root')
    return {
      message: `row \`${id}\` runs for the records of other rows`,
      hint: 'verify a row that runs by itself',
    };
  if (partition === undefined) return undefined;
  return {
    message: `row \`${id}\` is cut into chunks, and its destination holds what all of them read`,
    hint: 'verify a row without `partition` that reads the whole range',
  };
}

/**
 * What one shard wrote is not all that there is, and the last one does not know that it is the
 * last.
 */
function shardObstacle(
  { id, shard }: PlannedRow,
  { after_run: afterRun }: VerifyPlan['spec'],
): Obstacle | undefined {
  if (shard === undefined || !afterRun) return undefined;
  return {
    message: `row \`${id}\` is cut into shards, and no shard is all of it`,
    hint: 'set `after_run: false`, and use `headgate verify`',
  };
}

function modeObstacle(
  { id }: PlannedRow,
  writes: SinkCapabilities | undefined,
): Obstacle | undefined {
  switch (writes?.writeMode) {
    case 'overwrite':
      return {
        message: `row \`${id}\` replaces its destination in every run, so there is nothing that could have drifted or be repaired`,
        hint: 'use `reconcile` to count what it wrote, or `write_mode: upsert`',
      };
    case 'delete':
      return {
        message: `row \`${id}\` deletes what its source names`,
        hint: 'verify rows that write',
      };
    default:
      return undefined;
  }
}

function sharingObstacle(row: PlannedRow, rows: readonly PlannedRow[]): Obstacle | undefined {
  const mine = addressOf(row);
  const other = rows.find((one) => one.id !== row.id && addressOf(one) === mine);
  if (other === undefined) return undefined;
  return {
    message: `rows \`${row.id}\` and \`${other.id}\` write the same destination, so their records cannot be distinguished there`,
    hint: 'give each row a destination of its own',
  };
}

function addressOf({ sink: { definition, type, config, parsed } }: PlannedRow): string {
  return parsed === undefined
    ? canonicalJson({ type, config })
    : inOneSpelling(definition.datasetUri(parsed));
}

function unreadable({ id, sink }: PlannedRow): Obstacle {
  return {
    message: `what row \`${id}\` wrote cannot be read back from \`${sink.type}\``,
    hint: 'set `verify.destination` to a source that reads it',
  };
}

function keyless({ id }: PlannedRow): Obstacle {
  return {
    message: `row \`${id}\` has no key by which its records could be matched`,
    hint: 'set `verify.key` to the fields that identify a record',
  };
}
