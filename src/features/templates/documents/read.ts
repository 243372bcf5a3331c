/** From the text of a template to what it says; nothing outside of it is looked at. */
import type { ZodType } from 'zod';
import { parseText } from '../../../document/parse/parse.ts';
import { withPlaces, type Locate } from '../../../document/text/locate.ts';
import { classify, rewriteTokens } from '../../../document/tokens/tokens.ts';
import { check } from '../../../kit/schema.ts';
import { ConfigError, type Issue } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { nearest } from '../../../lib/text/nearest.ts';
import { TEMPLATE_KINDS } from '../../../wire/template-kinds.ts';
import {
  deploymentSchema,
  sinkTemplateSchema,
  sourceTemplateSchema,
  type Deployment,
  type SinkTemplate,
  type SourceTemplate,
  type TemplateKind,
} from './kinds.ts';

export interface TemplateText {
  readonly body: string;
  readonly format: 'yaml' | 'json';
}

interface Read {
  /** As written. */
  readonly tree: JsonObject;
  readonly locate: Locate;
}
export type TemplateDocument = Read &
  (
    | { readonly kind: 'pipeline' }
    | { readonly kind: 'source-template'; readonly template: SourceTemplate }
    | { readonly kind: 'sink-template'; readonly template: SinkTemplate }
    | { readonly kind: 'deployment'; readonly template: Deployment }
  );
export type DocumentOf<K extends TemplateKind> = Extract<TemplateDocument, { readonly kind: K }>;

/** Throws `ConfigError`; a pipeline is only parsed. */
export function readTemplate({ body, format }: TemplateText): TemplateDocument {
  const { tree, locate } = parseText(body, format, { kind: 'submitted' });
  return templateOfTree(tree, locate);
}

export function templateOfTree(
  tree: JsonObject,
  locate: Locate = () => undefined,
): TemplateDocument {
  const kind = kindOf(tree, locate);
  if (kind === 'pipeline') return { kind, tree, locate };
  const { template, issues } = checked(kind, tree);
  issues.push(...undeclaredParams(tree));
  if (issues.length > 0) throw new ConfigError(withPlaces(issues, locate));
  // The schema that the kind chose has checked it.
  return { kind, tree, locate, template } as TemplateDocument;
}

/** The id under which a source or sink template, or a deployment, is registered. */
export function idOf({
  name,
  owner,
}: {
  readonly name: string;
  readonly owner?: string | undefined;
}): string {
  return owner === undefined ? name : `${owner}/${name}`;
}

const SCHEMAS: Readonly<Record<Exclude<TemplateKind, 'pipeline'>, ZodType>> = {
  'source-template': sourceTemplateSchema,
  'sink-template': sinkTemplateSchema,
  deployment: deploymentSchema,
};

function checked(
  kind: Exclude<TemplateKind, 'pipeline'>,
  tree: JsonObject,
): { readonly template: unknown; readonly issues: Issue[] } {
  const result = check(SCHEMAS[kind], tree);
  return result.ok
    ? { template: result.value, issues: [] }
    : { template: undefined, issues: [...result.issues] };
}

function kindOf({ kind = 'pipeline' }: JsonObject, locate: Locate): TemplateKind {
  const found = TEMPLATE_KINDS.find((one) => one === kind);
  if (found !== undefined) return found;
  const near = typeof kind === 'string' ? nearest(kind, TEMPLATE_KINDS) : undefined;
  const issue: Issue = {
    code: 'invalid_value',
    path: 'kind',
    message: `${JSON.stringify(kind)} is no kind of template`,
    hint: near === undefined ? `kinds: ${TEMPLATE_KINDS.join(', ')}` : `did you mean \`${near}\`?`,
  };
  throw new ConfigError(withPlaces([issue], locate));
}

/** Every `${param.…}` of a template is declared in it. */
function undeclaredParams({ params, ...rest }: JsonObject): Issue[] {
  const declared = isObject(params) ? params : {};
  const missing = [...new Set(paramsIn(rest))].filter((name) => !Object.hasOwn(declared, name));
  if (missing.length === 0) return [];
  return [
    {
      code: 'unknown_param',
      path: 'params',
      message: `used and not declared: ${missing.map((name) => `\`${name}\``).join(', ')}`,
      hint: 'declare them under `params`',
    },
  ];
}

function paramsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return paramsInText(value);
  if (Array.isArray(value)) return value.flatMap(paramsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => [...paramsInText(key), ...paramsIn(item)]);
}

function paramsInText(text: string): string[] {
  if (!text.includes('${')) return [];
  const found: string[] = [];
  rewriteTokens(text, {
    replace: (body) => {
      const token = classify(body);
      if (token.kind === 'path' && token.root === 'param') found.push(token.path);
      if (token.kind === 'directive' && token.prefix === 'map')
        found.push(token.rest.split('|')[0] ?? '');
      return '';
    },
    tooDeep: () => undefined,
  });
  return found;
}
