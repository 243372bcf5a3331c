/** The file that says where templates come from: every problem at its place. */
import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { parseText } from '../../../document/parse/parse.ts';
import { withPlaces } from '../../../document/text/locate.ts';
import { formatOf } from '../../../document/text/file-text.ts';
import { check, finding, integer, optional, text } from '../../../kit/schema.ts';
import { AppError, ConfigError, type Issue } from '../../../lib/errors.ts';
import { fileFault } from '../../../lib/files/file-fault.ts';
import { isHttpUrl } from '../../../lib/http/http-url.ts';
import { splitLogin } from '../../../lib/http/outgoing-request.ts';

const fileSource = z.strictObject({
  type: z.literal('file'),
  config: z.strictObject({
    path: text().meta({ description: 'A folder, relative to this file.' }),
  }),
});

/** `repo_host` is the name of the specification for the same. */
const gitSource = z.strictObject({
  type: z.enum(['git', 'repo_host']),
  config: z.strictObject({
    url: text()
      .superRefine((url, ctx) => {
        if (!isHttpUrl(url))
          ctx.addIssue(
            finding('invalid_value', 'expected the address of a repository over https or http'),
          );
        else if (splitLogin(url).authorization !== undefined)
          ctx.addIssue(
            finding('invalid_value', 'the address holds a login', {
              hint: 'name the variable that holds the token in `token_env`, and its user in `username`',
            }),
          );
      })
      .meta({ description: 'Address of the repository, https or http, without a login.' }),
    branch: optional(text()).meta({ description: 'Its default branch when absent.' }),
    path: optional(
      text().superRefine((path, ctx) => {
        if (isAbsolute(path) || path.split(/[/\\]/).includes('..'))
          ctx.addIssue(
            finding('invalid_value', `\`${path}\` leads out of the repository`, {
              hint: 'name a folder of the repository, such as `templates`',
            }),
          );
      }),
    ).meta({ description: 'A folder in it; all of it when absent.' }),
    username: optional(text()).meta({
      description: 'With the token; `x-access-token` when absent.',
    }),
    token_env: optional(text()).meta({
      description: 'Name of the variable that holds a token for the repository.',
    }),
  }),
});

const originSchema = z.strictObject({
  name: text().meta({ description: 'Name of the origin; unique.' }),
  source: z.discriminatedUnion('type', [fileSource, gitSource]),
  prefix: text().meta({ description: 'Ids of its templates begin with it; no two overlap.' }),
  launch: z.enum(['ignore', 'follow', 'always']).default('ignore').meta({
    description: 'Whether new versions are launched: never, where the file beside says so, always.',
  }),
  prune: z.enum(['keep', 'deprecate']).default('keep').meta({
    description: 'What becomes of templates that the origin does not have any more.',
  }),
  interval_secs: optional(integer({ min: 1 })).meta({
    description: 'Seconds between two pulls; only at the start and on request when absent.',
  }),
});

const fileSchema = z.strictObject({
  version: z.literal(1).meta({ description: 'Version of this format: 1.' }),
  origins: z.array(originSchema).meta({ description: 'Where templates come from.' }),
});

export type OriginSettings = z.output<typeof originSchema>;
export type GitSettings = Extract<
  OriginSettings['source'],
  { type: 'git' | 'repo_host' }
>['config'];

/** With absolute folders. Throws `ConfigError`, or `AppError` when the file cannot be read. */
export function readOriginsFile(file: string): readonly OriginSettings[] {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    throw new AppError(
      'bad_option',
      `the file of origins ${file} cannot be read: ${fileFault(error).says}`,
      { hint: 'check the path given to --templates-sync' },
    );
  }
  const format = formatOf(file) ?? 'yaml';
  const { tree, locate } = parseText(content, format, { kind: 'file', path: file });
  const result = check(fileSchema, tree);
  const issues = result.ok ? clashes(result.value.origins) : [...result.issues];
  if (!result.ok || issues.length > 0) {
    const placed = withPlaces(issues, locate).map((issue) => ({ ...issue, file }));
    throw new ConfigError(placed, { stage: 'validate' });
  }
  return result.value.origins.map((origin) =>
    origin.source.type === 'file'
      ? { ...origin, source: absolute(origin.source, dirname(file)) }
      : origin,
  );
}

function absolute(
  source: z.output<typeof fileSource>,
  folder: string,
): z.output<typeof fileSource> {
  return { ...source, config: { path: resolve(folder, source.config.path) } };
}

function clashes(origins: readonly OriginSettings[]): Issue[] {
  return origins.flatMap(({ name, prefix }, index) =>
    origins
      .slice(0, index)
      .flatMap((other): Issue[] => [
        ...(other.name === name
          ? [clash(`origins[${index}].name`, `\`${name}\` is the name of another origin, too`)]
          : []),
        ...(other.prefix.startsWith(prefix) || prefix.startsWith(other.prefix)
          ? [
              clash(
                `origins[${index}].prefix`,
                `\`${prefix}\` overlaps with the prefix \`${other.prefix}\` of ${other.name}`,
              ),
            ]
          : []),
      ]),
  );
}

function clash(path: string, message: string): Issue {
  return { code: 'duplicate_name', path, message, hint: 'give each origin ids of its own' };
}
