/**
 * Every code an issue of a document can have, with what it means and what to do. A test holds this
 * list against the sources.
 */
import { code, type ErrorCode } from '../../lib/error-code.ts';

export const ISSUES = {
  alias_limit: code(
    'YAML aliases contain themselves or expand to too many nodes.',
    'write the values out, or use `vars`',
  ),
  backfill_unscoped: code(
    'Every unit of a backfill would read the same.',
    'use `${backfill.start}` and `${backfill.end}`, or `${now.date}`, in the `config` of the source',
  ),
  bad_encoding: code(
    'The text is not well-formed UTF-8 or holds a NUL character.',
    'save the file as UTF-8',
  ),
  bad_json: code(
    'The text is not valid JSON.',
    'correct the line that is named; an editor with JSON support shows what is wrong',
  ),
  bad_package_name: code(
    'What stands behind `npm:` is not the name of a package.',
    'write the name as `npm install` takes it',
  ),
  bad_yaml: code(
    'The text is not valid YAML.',
    'correct the line that is named; indent with spaces, and quote texts with `: ` or `#` in them',
  ),
  clean_up_unsafe: code(
    'Records that seem to be gone from the source may still be there, or cannot be removed.',
    'read the source completely, give the sink a `key`, or turn the cleanup off',
  ),
  composition_cycle: code(
    'Files extend or include each other in a circle.',
    'leave one of the files out of the circle',
  ),
  breaker_unused: code(
    'A circuit breaker in a row that has no dead-letter queue.',
    'declare a `dlq`, or remove the circuit breaker',
  ),
  composition_file_only: code(
    '`extends`, `profiles` and `!include` work only in files, not in submitted documents.',
    'send the composed document; `headgate validate --show-composed` prints it',
  ),
  connector_kit_version: code(
    'The connector of a package was written for another version of `headgate/kit`.',
    'install a version of the package that fits this version of Headgate',
  ),
  connector_missing: code(
    'A document names the connector of a package that is not installed.',
    'install the package with `npm install`',
  ),
  connector_not_allowed: code(
    'A document names the connector of a package that was not allowed at the start.',
    'name the package with `--allow-connector` at the start',
  ),
  connector_unusable: code(
    'A package cannot be loaded, or is no connector.',
    'mend the package, or use another version of it',
  ),
  conflicting_keys: code('Two keys of one entry exclude each other.', 'leave one of the keys out'),
  dependency_cycle: code(
    'Rows wait for each other in a circle.',
    'remove one of the `depends_on` or `parent` that form the circle',
  ),
  dlq_all_unsafe: code(
    '`dlq_all` on a sink where part of a failed page may have landed.',
    'use another policy for failed batches, or a `write_mode: upsert`',
  ),
  dlq_required: code(
    'A policy sends records to a dead-letter queue that the row does not have.',
    'add `pipeline.dlq`, or choose a policy that needs none',
  ),
  document_told: code(
    'Lineage events hold the whole document.',
    'leave the setting out unless whoever receives the events may read the document',
  ),
  duplicate_edge: code(
    'The same edge is declared twice.',
    'remove one of them, or give each an `as` of its own',
  ),
  duplicate_key: code('One mapping has the same key twice.', 'remove one of the two'),
  duplicate_name: code('Two entries of a list have the same name.', 'give each a name of its own'),
  duplicate_row_id: code('Two rows have the same id.', 'give each row an `id` of its own'),
  duplicate_template: code(
    'The default preset is declared twice.',
    'keep one of the two: `source` or `sources.default`, `sink` or `sinks.default`',
  ),
  empty_document: code(
    'The text holds no document.',
    'write a document; `headgate init` makes a first one',
  ),
  empty_selection: code(
    'No row is left to run.',
    'check `--select`, `--tag`, `--status` and `--skip`, and the status of the rows',
  ),
  evolve_unsupported: code(
    'The sink has no columns that could be changed, or replaces everything.',
    'use another `on_drift`, or a sink that has columns',
  ),
  exactly_once_quarantine: code(
    'A quarantining policy cannot be combined with exactly-once delivery.',
    'use another policy, or `delivery: at_least_once`',
  ),
  exactly_once_unreachable: code(
    'The parts of the row cannot deliver exactly once.',
    'use `write_mode: upsert` with a `key`, parts that offer it, or `at_least_once`',
  ),
  file_refused: code(
    'The server does not let documents use this file.',
    'put the file into the folder of `--data-root`, or ask whoever runs the server',
  ),
  file_unreadable: code(
    'A file cannot be read.',
    'check the path and the rights to it; relative paths start at the working folder, those in a file at its folder',
  ),
  interpolation_cycle: code(
    'Tokens refer to each other in a circle.',
    'let one of the values be written out',
  ),
  invalid_cron: code(
    'A cron expression cannot be read, or never comes true.',
    'write five fields: minute, hour, day of the month, month, day of the week',
  ),
  invalid_path: code(
    'A path into records cannot be read.',
    'write a path such as `$.items[0].name`',
  ),
  invalid_pattern: code(
    'A regular expression cannot be compiled.',
    'correct the expression at the place that is named',
  ),
  invalid_state_key: code(
    'Pipeline name and row id do not make a state key.',
    'use letters, digits, `-`, `_` and `.` in names and ids',
  ),
  invalid_token: code(
    'A token is nested or chained beyond its limits.',
    'write the value out, or put a part of it into `vars`',
  ),
  invalid_value: code(
    'The value is not one of those that are possible.',
    'use one of the values that the message or the hint lists',
  ),
  lookup_unmatched: code(
    'A lookup has no case for the value.',
    'add the case, or `*=` with a value for all others',
  ),
  masked_key: code(
    'Masking would make different keys of an upsert equal, so that records replace each other.',
    'leave the key out of the masking, or use `hash` or `tokenize` for it',
  ),
  may_miss_records: code(
    'A query may miss records that come between two runs.',
    'let the query look back a while, or read by a column that only grows',
  ),
  missing_ancestor: code(
    'A row that runs needs one that does not.',
    'select it too, or set `include_parents`',
  ),
  missing_field: code(
    'The parent record does not have the field a token names.',
    'check the name of the field, or filter the parent records that lack it',
  ),
  missing_key: code('A key that is required is absent.', 'add the key'),
  missing_param: code(
    'A parameter has no value.',
    'give it with `--param NAME=VALUE` (over HTTP in `params`), or declare a `default`',
  ),
  missing_template: code(
    'A row names no preset and there is no default one.',
    'declare `pipeline.source` or `pipeline.sink`, or name a preset with `ref`',
  ),
  name_not_public: code(
    'The name of a pipeline or a row, which is a public label, holds a value from outside of the document.',
    'write the name out',
  ),
  missing_variable: code(
    'An environment variable is not set.',
    'set it in the environment, in `.env` or with `--param-env`',
  ),
  more_issues: code(
    'There are more issues than are reported at once.',
    'correct those that are listed, then look again',
  ),
  missing_node: code(
    'A graph without a source node or without a sink node.',
    'add a node of the type that is missing',
  ),
  node_arity: code('A node has too few or too many edges.', 'add or remove edges of the node'),
  node_cycle: code(
    'Nodes feed each other in a circle.',
    'remove one of the edges that form the circle',
  ),
  notification_unused: code(
    'A notification rule that can never send anything.',
    'correct the rule, or remove it',
  ),
  not_available: code(
    'The specification knows this; this version does not run it yet.',
    'leave it out, or use what the hint names',
  ),
  not_on_sink: code('The key works only on a source.', 'remove it, or put it into the source'),
  out_of_range: code(
    'A number, length or count is too small or too large.',
    'use a value within the range that the message names',
  ),
  output_clash: code(
    'Two rows, or two invocations of one row, would replace the same file.',
    'give each a place of its own, for example with a token in the path',
  ),
  param_cycle: code(
    'Computed parameters depend on each other in a circle.',
    'let one of the parameters be no computed one',
  ),
  param_type: code(
    'A value is not of the type of its parameter.',
    'give a value of the declared type',
  ),
  param_value: code(
    'A value is not possible for its parameter.',
    'give one of the values that the message lists',
  ),
  parked_ancestor: code(
    'A row runs against its status because another one needs it.',
    'change its `status`, or do not select the row that needs it',
  ),
  partition_referenced: code(
    'A row waits for one that is cut into chunks, or runs for its records.',
    'leave `partition` out of that row, or do not refer to it',
  ),
  shard_impossible: code(
    'A row cannot be read in ranges of a column.',
    'leave `shard` out, or use a source that reads ranges of a column',
  ),
  partition_unused: code(
    'A row is cut into chunks that its source does not know of.',
    'use `${partition.start}` and `${partition.end}` in the source, or leave `partition` out',
  ),
  replaced_output: code(
    'The next run would replace a file with only what is new.',
    'let the sink append, or read everything in each run',
  ),
  replication_impossible: code(
    'The document asks for a replication that cannot be made with its parts.',
    'use the parts that the message names',
  ),
  replication_not_keyed: code(
    'A replication whose sink only adds records.',
    'use `write_mode: upsert` with a `key`',
  ),
  reserved_row_id: code(
    'The row id means something else inside tokens.',
    'give the row another `id`',
  ),
  rollback_unreachable: code(
    'Runs of the row cannot be undone.',
    'leave `rollback` out, or use a sink and columns with which it works',
  ),
  schedule_refused: code(
    'A submitted document cannot have a schedule.',
    'leave it out; the server has schedules of its own',
  ),
  secret_denied: code(
    'A secrets manager does not let this program in.',
    'check the login of the secrets manager, and its rights to this secret',
  ),
  secret_field: code('A secret has no such field.', 'check what stands behind `#`'),
  secret_not_found: code(
    'A secrets manager has no such secret.',
    'check the name, the project or the vault, and the version',
  ),
  secret_unavailable: code(
    'A secret cannot be read now, or not by this build.',
    'look whether the secrets manager can be reached, and its client is installed',
  ),
  selection_without_matrix: code(
    'Rows are selected in a document that has no matrix.',
    'leave the options out, or add a `matrix`',
  ),
  several_documents: code(
    'The text holds more than one document.',
    'keep one, or make a file of each',
  ),
  state_not_durable: code(
    'The state store forgets everything when the process ends.',
    'use a state store that lasts, such as `file`',
  ),
  state_required: code(
    'A check looks at earlier runs, and the row has no state store.',
    'add `pipeline.state`',
  ),
  template_kind: code(
    'A template stands where a pipeline document is expected.',
    'name a document that has a `pipeline`',
  ),
  state_unused: code(
    'There is a state store but the source keeps no bookmarks.',
    'remove the `state`, or use a source that keeps a position',
  ),
  token_out_of_scope: code(
    'A run-time token is used where it has no value.',
    'use it in the `config` of a source or a sink',
  ),
  too_deep: code('The document is nested too deeply.', 'write it flatter'),
  too_large: code(
    'The document, one of its mappings, a file or the text of tokens is too large.',
    'split it, or move data out of the document into a file of its own',
  ),
  undeclared_param: code(
    'A value is supplied for a parameter that the document does not have.',
    'declare it in `params`, or leave it out',
  ),
  unknown_auth: code(
    'A connector names a login that is not declared.',
    'declare it in `auth`, or correct the name',
  ),
  unknown_key: code(
    'The key is not known here.',
    'correct the name, or remove the key; the reference lists those that exist',
  ),
  unknown_label: code(
    'No edge into the join has the name.',
    'correct the label, or add `as` to the edge',
  ),
  unknown_node: code(
    'An edge names a node that does not exist.',
    'correct the name, or declare the node',
  ),
  unknown_param: code(
    'A token names a parameter that is not declared.',
    'declare it in `params`, or correct the name',
  ),
  unknown_policy: code('The policy for parents is not known.', 'use `off`, `eligible` or `all`'),
  unknown_profile: code(
    'The document does not declare the profile.',
    'declare it in `profiles`, or correct the name',
  ),
  variable_refused: code(
    'The server does not let documents read this environment variable: it holds a credential of the server, or `--allow-env` does not name it.',
    'name it with `--allow-env` at the start of the server, or use another one',
  ),
  unknown_reference: code(
    'A token names a variable or preset that does not exist.',
    'declare it, or correct the name',
  ),
  unknown_row: code('There is no such row.', 'correct the id'),
  unknown_status: code(
    'There is no such status of a row.',
    'use `mandatory`, `active`, `available`, `draft` or `archived`',
  ),
  unknown_tag: code('No row has the tag.', 'correct the tag, or add it to a row'),
  unknown_template: code(
    'There is no such preset.',
    'declare it in `pipeline.sources` or `pipeline.sinks`, or correct the name',
  ),
  unknown_token: code(
    'The token is not known.',
    'correct the token; `$${` stands for the text `${`',
  ),
  unknown_type: code(
    'This build has no such part.',
    'correct the name; `headgate list` shows what there is',
  ),
  unknown_version: code('The version of the document format is not known.', 'write `version: 1`'),
  unsupported_extension: code(
    'Documents are `.yaml`, `.yml` or `.json` files.',
    'give the file one of these extensions',
  ),
  verify_impossible: code(
    'The destination of a row cannot be compared with its source.',
    'use a sink that can be read again, and a `key`',
  ),
  without_effect: code('A setting that changes nothing here.', 'remove it, or add what it needs'),
  write_mode_unsupported: code(
    'The sink does not offer the write mode.',
    'use one of the modes that the hint lists',
  ),
  wrong_type: code(
    'The value has the wrong type.',
    'write a value of the type that the message names',
  ),
  yaml_tag: code(
    'A YAML tag is used where only plain values are possible.',
    'remove the tag; quote the value where it is a text',
  ),
} as const satisfies Record<string, ErrorCode>;

export type IssueCode = keyof typeof ISSUES;
