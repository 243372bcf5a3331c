/**
 * Every code with which a run or one of its rows can fail: what it means, and what to do. The
 * reference is made from this list; the cure is also the hint of an error that has none of its own.
 */
import { code, type ErrorCode } from '../lib/error-code.ts';

export const RUN_CODES = {
  balance_open: code(
    'The records that were read are not all accounted for.',
    'do not trust the destination before `headgate verify` or a second run',
  ),
  bad_config: code(
    'The config of a part cannot work, which is known only at run time.',
    'correct the place in the document that the message names',
  ),
  circuit_open: code(
    'Too many pages in succession could not be written at all.',
    'look whether the destination is available, then run again',
  ),
  clean_up_unsafe: code(
    'Vanished rows would be deleted, and it is not certain that they are gone.',
    'read the source completely, or turn the cleanup off',
  ),
  connector_auth: code(
    'The other side does not accept the login.',
    'check user, password, token or key, and the rights that they have',
  ),
  connector_connection: code(
    'There is no connection, or it was lost.',
    'check host and port, that the server runs, and what stands in between: firewall, proxy, TLS',
  ),
  connector_data: code(
    'Data that the part cannot read or the destination does not take.',
    'correct the data at the place that the message names, or put such records aside in a `dlq`: with `on_error: dlq` of a source that reads text, a quality check, or a contract',
  ),
  connector_http_5xx: code(
    'The server failed.',
    'run again later, or repeat requests with `resilience.retry` or `max_retries`',
  ),
  connector_missing: code(
    'A file, table, address or column does not exist.',
    'check the name; look whether the part can create it (`create_table`, for example)',
  ),
  connector_rate_limited: code(
    'The server got more requests than it takes.',
    'send fewer requests at a time, or repeat them with `resilience.retry`',
  ),
  connector_refused: code(
    'The other side refuses the operation.',
    'check rights, free space, and what the place allows',
  ),
  connector_timeout: code(
    'There was no answer in time.',
    'check host and port, and why the other side is slow or silent; then raise the timeout of the part',
  ),
  contract_breach: code(
    'A record breaks the contract, which says `on_breach: fail`.',
    'correct the data, or use `on_breach: quarantine` with a `dlq` to put such records aside',
  ),
  dead_letters_left_out: code(
    'The dead-letter queue has no place for any field of a dead letter.',
    'give the `dlq` a destination of its own, with columns such as `payload`, `reason` and `error`',
  ),
  dlq_budget_exceeded: code(
    'More records went to the dead-letter queue than the document allows.',
    'look at the dead letters with `headgate dlq inspect`, then raise the budget or correct the data',
  ),
  duplicate_state_key: code(
    'Two invocations of a row would store their position under one key.',
    'choose a `parent_key` that is different for each parent record',
  ),
  evolve_unsupported: code(
    'The destination cannot be given new columns with the config of this run.',
    'use another `on_drift`, or `column_mapping: auto_map`',
  ),
  exactly_once_unreachable: code(
    'The parts cannot deliver exactly once with the config of this run.',
    'use `write_mode: upsert` with a `key`, or `at_least_once`',
  ),
  internal: code(
    'Something that should not happen: a defect of Headgate or of a library.',
    'report it with the log of the run',
  ),
  join_build_too_large: code(
    'The side that a join keeps in memory is too large.',
    'let the smaller input be the kept side, or filter it before the join',
  ),
  join_collision: code(
    'Both sides of a join have a field of one name.',
    'rename one of them before the join, or give a prefix',
  ),
  join_not_object: code(
    'A record that comes to a join is not an object.',
    'make objects of the records before the join',
  ),
  masked_values_collide: code(
    'Masking makes different values of a fan-out row equal.',
    'mask them with `hash` or `tokenize`, or leave them out with `applies_to`',
  ),
  output_clash: code(
    'Two invocations of one run would replace the same file or table.',
    'give each a place of its own, or let both append',
  ),
  partition_bound: code(
    'A bound of a range could not be found out.',
    'write `start` and `end`, or check the probe',
  ),
  poison_records: code(
    'Records failed every attempt, and `poison` says `fail`.',
    'correct the records, or use `poison.action: dlq` to put them aside',
  ),
  positions_diverged: code(
    'The sinks of a graph stand at different positions of a source that has changed.',
    'let the run start over: delete the stored positions of the graph',
  ),
  product_too_large: code(
    'A row would run for too many values.',
    'let the fan-out rows list fewer values',
  ),
  quality_abort: code(
    'A quality check failed, and says `on_failure: abort`.',
    'correct the data, or use `quarantine` with a `dlq` to put such records aside',
  ),
  reconcile_no_count: code(
    'The authority of `reconcile` gave no count.',
    'check its query and `count_field`',
  ),
  reconcile_shortfall: code(
    'The run wrote another number of records than the authority counts.',
    'look for filtered records and dead letters, or set a `tolerance`',
  ),
  record_error: code(
    'A transform cannot process a record.',
    'correct the record, use another `on_error`, or put such records aside with `on_error: dlq` where there is that',
  ),
  records_rejected: code(
    'The sink rejected single records, and there is no dead-letter queue.',
    'declare a `dlq` to put rejected records aside and go on',
  ),
  rollback_unreachable: code(
    'The sink cannot roll back a run with this config.',
    'use `column_mapping: auto_map`, or remove `rollback`',
  ),
  schema_drift: code(
    'The fields of the records differ from the columns of the destination, and `on_drift` says `fail`.',
    'add the columns, change the records with a transform, or choose another `on_drift`',
  ),
  run_taken_over: code(
    'The server lost touch with its cluster, so that another one may execute the run.',
    'look why the server or its connection to the history was slow; another server goes on with the run',
  ),
  shard_key: code(
    'The column by which a row is cut into shards cannot be used.',
    'name a column of whole numbers that is never null, or leave `shard` out',
  ),
  state_held: code(
    'Another run moves the same position.',
    'wait until it has ended, or cancel it; the lease of a dead process ends by itself',
  ),
  state_lease_lost: code(
    'Another run took over while this one did not answer.',
    'look whether its machine was suspended or overloaded, then run again',
  ),
  stopped_cancel: code('The run was cancelled.', 'run again; it goes on after the last position'),
  stopped_kill: code('The run was ended at once.', 'run again; it goes on after the last position'),
  stopped_shutdown: code('The server was stopped.', 'submit the run again'),
  stopped_sibling_failed: code(
    'Another row failed, and `on_error` says `stop`.',
    'correct the row that failed first',
  ),
  stopped_timeout: code('The run took longer than it may.', 'raise its time limit, or split it'),
  thread_ended: code(
    'A thread that works on pages ended.',
    'run with `--threads 0`, and give the process more memory',
  ),
  too_many_keys: code(
    'A cleanup would have to remember too many keys.',
    'narrow the scope of the cleanup',
  ),
  verify_different: code(
    'Source and destination differ after the run.',
    'list the differences with `headgate verify`; `--repair` writes those records again',
  ),
  verify_not_object: code(
    'A record that is compared is not an object, and so has no key.',
    'make objects of the records with a transform',
  ),
} as const satisfies Record<string, ErrorCode>;

export function cureOf(name: string): string | undefined {
  return Object.hasOwn(RUN_CODES, name)
    ? RUN_CODES[name as keyof typeof RUN_CODES].cure
    : undefined;
}
