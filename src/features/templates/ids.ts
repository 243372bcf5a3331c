/** Ids of templates: `name`, and `owner/name` for source templates, sink templates and deployments. */
import { RefusedError } from '../../lib/errors.ts';
import type { CheckedTemplate } from './template-jobs.ts';

const LONGEST = 64;
const PART = /^[a-z0-9][a-z0-9_-]*$/;
/** Routes of their own. */
const RESERVED = ['matrix', 'sync'];

/** The id to register a document under; throws `unprocessable`. */
export function checkId(
  given: string | undefined,
  { kind, id: own, name }: Pick<CheckedTemplate, 'kind' | 'id' | 'name'>,
): string {
  if (kind === 'source-template' || kind === 'sink-template') {
    if (given !== undefined && given !== own)
      throw refusal(
        `the id \`${given}\` is not that of the document, \`${own}\``,
        'leave `id` out, or rename the template',
      );
    return checked(own ?? '');
  }
  const id = given ?? own ?? slugOf(name ?? '');
  if (id === '')
    throw refusal(
      'the document has no `name` to make an id of',
      'give it a `name`, or send an `id`',
    );
  return checked(id);
}

function checked(id: string): string {
  const parts = id.split('/');
  const isValid =
    parts.length <= 2 && parts.every((part) => PART.test(part) && part.length <= LONGEST);
  if (!isValid)
    throw refusal(
      `${JSON.stringify(id)} is not an id`,
      'lower-case letters, digits, `-` and `_`, at most 64 of them; with an owner: `owner/name`',
    );
  if (RESERVED.includes(id)) throw refusal(`the id \`${id}\` is reserved`, 'choose another one');
  return id;
}

/** `Daily Orders (EU)` becomes `daily-orders-eu`. */
export function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^[-_]+|-+$/g, '')
    .slice(0, LONGEST);
}

function refusal(message: string, hint: string): RefusedError {
  return new RefusedError('unprocessable', message, { hint });
}
