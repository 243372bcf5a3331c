/**
 * Every code with which a command, or a request that it makes, can end without a run: what it
 * means, and what to do. The codes of documents and of runs stand in lists of their own.
 */
import { code, type ErrorCode } from '../lib/error-code.ts';
import { RUN_CODES } from './run-codes.ts';

export const COMMAND_CODES = {
  address_in_use: code(
    'Another program listens at the address.',
    'stop it, or choose another address with `--listen`',
  ),
  ambiguous_dataset: code(
    'Several data sets begin with the text that was given.',
    'write more of the name',
  ),
  backfill_begun: code(
    'A backfill of this range has begun and not ended.',
    'go on with `--resume`, or begin anew with `--restart`',
  ),
  backfill_bookmarks: code(
    'A backfill would move the positions of the ordinary runs.',
    'choose what becomes of the bookmarks with the options of `headgate backfill`',
  ),
  bad_import: code(
    'What another tool has written cannot become a document.',
    'correct the place that the message names, or leave that part out',
  ),
  bad_marker: code(
    'What the state store holds about earlier work is not what Headgate wrote there.',
    'give the work a state store or a name of its own, or begin anew with `--restart`',
  ),
  bad_option: code(
    'The value of an option or of an environment variable cannot be used.',
    'see `--help` of the command for the values that are possible',
  ),
  cancelled: code('Somebody answered a question with no.', 'nothing was changed; start again'),
  cannot_listen: code(
    'The server cannot listen at the address.',
    'choose another address with `--listen`, or give the user the right to the port',
  ),
  conflict: code(
    'The request contradicts what the server holds.',
    'look at the present state of what it names, then ask again',
  ),
  crash_attempt_failed: code(
    'A process that was to be killed for `headgate test` could not be started or did not end.',
    'look at what the message quotes, then try again',
  ),
  demo_missing: code('The files of the demo are not there.', 'start again with `headgate demo`'),
  empty_file: code('A file has no record to look at.', 'name a file that holds data'),
  env_file: code(
    'The file of environment variables cannot be read.',
    'check the path given with `--env-file`, or use `--no-env-file`',
  ),
  file_exists: code(
    'A file that would be written is there already, and was left alone.',
    'use `--force` to replace it, or `--output` to write another file',
  ),
  file_timeout: code(
    'A file was not read in time.',
    'look whether its disk or share answers, and name a regular file',
  ),
  file_unusable: code(
    'The system refuses a file or folder that the command needs.',
    'make room, give the right to it, or name another place',
  ),
  forbidden: code('The token does not have the right.', 'use a token with a role that may do it'),
  listen_failed: code(
    'Metrics cannot be served at the address.',
    'choose another address in `observability`, or stop the program that uses it',
  ),
  method_not_allowed: code(
    'The address does not know the method.',
    'use a client of the same version as the server',
  ),
  missing: code('What was asked for is not there.', 'check the name or the address'),
  no_catalog: code('The document has no `catalog`.', 'add the block, or name another document'),
  no_contract: code(
    'The document has no `pipeline.contract`.',
    'add the block, or name another document',
  ),
  no_document: code(
    'No document was named, and none stands in the current folder.',
    'name one, or start with `headgate init`',
  ),
  no_masking: code(
    'The document has no `pipeline.masking`.',
    'add the block, or name another document',
  ),
  no_notifications: code(
    'The document has no `notifications`.',
    'add the block, or name another document',
  ),
  no_replication: code(
    'The document has no `replication`.',
    'add the block, or use `headgate run`',
  ),
  no_root_row: code(
    'No row can be looked at by itself.',
    'select a row without `parent`, or name one with `--row`',
  ),
  no_schedule: code(
    'The document has no `schedule`.',
    'add the block, or run the document once with `headgate run`',
  ),
  no_spec: code(
    'There is no file of test cases.',
    'name one; `headgate test --help` shows how they are called',
  ),
  no_such_case: code('No test case has the name.', 'check `--filter`'),
  not_found: code(
    'The server has nothing of that name.',
    'check the id or the name; the commands that list show what there is',
  ),
  payload_too_large: code(
    'The request is larger than the server takes.',
    'send a smaller document, or raise the limit of the server',
  ),
  queue_full: code(
    'The queue of the server is full.',
    'send it again later, or raise `--max-queued-runs` of the server',
  ),
  token_in_variable: code(
    'Documents could read an environment variable that holds a token of the server.',
    'use another token, or restart the server',
  ),
  unauthorized: code(
    'The server does not accept the token.',
    'give a valid one; `headgate submit --help` shows where it is taken from',
  ),
  unavailable: code('The server cannot answer now.', 'try again later'),
  unknown_dataset: code(
    'The catalog has no such data set.',
    'list them with `headgate catalog datasets`',
  ),
  unprocessable: code(
    'The server understands the request and cannot carry it out.',
    'correct what the message names',
  ),
  unsupported_media_type: code(
    'The body of the request is of a type that the server does not read.',
    'send JSON or YAML with the `Content-Type` of it',
  ),
  unwritable_file: code('A file cannot be written.', 'check the path and the rights to it'),
  usage: code('The command line cannot be understood.', 'see `--help` of the command'),
} as const satisfies Record<string, ErrorCode>;

/** What to do about an error that says nothing of it itself. */
export function cureOfAny(name: string): string | undefined {
  const codes: Readonly<Record<string, ErrorCode>> = { ...COMMAND_CODES, ...RUN_CODES };
  return Object.hasOwn(codes, name) ? codes[name]?.cure : undefined;
}
