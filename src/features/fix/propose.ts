/** Changes of a document that may mend what was seen; whether they do, another look says. */
import { isObject, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { nearest } from '../../lib/text/nearest.ts';
import type { PlannedRow, PlannedTransform } from '../../plan/plan.ts';
import { stepsOf, type Edit } from './edit-document.ts';
import type { Fault, Look } from './look.ts';

export interface Proposal {
  readonly because: string;
  readonly edits: readonly Edit[];
  /** Right whether or not more records go on with it. */
  readonly isCertain?: true;
}

/** A setting that a look at the file itself suggests. */
export interface Suggested {
  readonly key: string;
  readonly value: JsonValue;
  readonly because?: string | undefined;
}

const OF_THE_FORMAT: Readonly<Record<string, JsonValue>> = {
  encoding: 'utf-8',
  delimiter: ',',
  skip_rows: 0,
  has_headers: true,
};

/** What the file is read with, where it is evidently another one. */
export function formatProposal(
  { source }: PlannedRow,
  suggested: readonly Suggested[],
): Proposal | undefined {
  const wanted = new Map(suggested.map((one) => [one.key, one]));
  const different = Object.entries(OF_THE_FORMAT).flatMap(([key, usual]) => {
    const one = wanted.get(key) ?? { key, value: usual };
    const now = source.config[key] ?? usual;
    const isSame = now === one.value || now === 'auto' || codeOf(now) === codeOf(one.value);
    return isSame ? [] : [one];
  });
  if (different.length === 0) return undefined;
  return {
    because: different
      .map(({ key, because }) => because ?? `\`${key}\` is the usual one`)
      .join('; '),
    edits: different.map(({ key, value }) => set(joinPath(source.path, 'config', key), value)),
  };
}

/** Separators may be written as the code of their byte. */
function codeOf(value: JsonValue): JsonValue {
  return typeof value === 'string' && value.length === 1 ? value.charCodeAt(0) : value;
}

const NULL_TEXTS = /^(?:null|n\/a|na|none|nil|nan|-|--|\?|\\n|#n\/a|)$/i;

/** Texts that stand for no value. */
export function nullProposal({ source }: PlannedRow, { faults }: Look): Proposal | undefined {
  if (source.type !== 'csv') return undefined;
  const texts = new Set<string>();
  for (const { value, field } of faults)
    if (field !== undefined && typeof value === 'string' && NULL_TEXTS.test(value))
      texts.add(value);
  if (texts.size === 0) return undefined;
  const known = source.config['null_values'];
  const before = Array.isArray(known) ? known : [];
  return {
    because: `${quoted(texts)} ${texts.size === 1 ? 'stands' : 'stand'} for no value`,
    edits: [set(joinPath(source.path, 'config', 'null_values'), [...before, ...texts])],
  };
}

const COMMA_NUMBER = /^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+$/;
/** `1,234` is one thousand and more in some countries, and one and a little in others. */
const MAY_BE_THOUSANDS = /^[+-]?\d{1,3},\d{3}$/;
const HAS_THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;

/** Numbers with a comma before the fraction, where nothing says that it separates thousands. */
export function commaProposal(row: PlannedRow, { faults }: Look): Proposal | undefined {
  const found = faults.filter(
    ({ stage, value }) =>
      stage === 'transform cast' && typeof value === 'string' && COMMA_NUMBER.test(value),
  );
  const first = found.find(
    ({ value }) => typeof value === 'string' && !MAY_BE_THOUSANDS.test(value),
  );
  if (first === undefined) return undefined;
  const names = new Set(found.map(({ field }) => field));
  const hasThousands = faults.some(
    ({ field, value }) =>
      names.has(field) &&
      typeof value === 'string' &&
      HAS_THOUSANDS.test(value) &&
      !COMMA_NUMBER.test(value),
  );
  if (hasThousands) return undefined;
  const casts = row.transforms.filter(
    ({ type, config }) =>
      type === 'cast' &&
      config['decimal_separator'] === undefined &&
      found.some(({ field }) => typeOf(config, field) === 'float'),
  );
  if (casts.length === 0) return undefined;
  return {
    because: `${JSON.stringify(first.value)} has a comma before its fraction`,
    edits: casts.map(({ path }) => set(joinPath(path, 'config', 'decimal_separator'), ',')),
  };
}

function typeOf({ fields }: JsonObject, field: string | undefined): JsonValue | undefined {
  return isObject(fields) && field !== undefined ? fields[field] : undefined;
}

/** Fields that no record has, where one has nearly that name. */
export function nameProposal(row: PlannedRow, { fields }: Look): Proposal | undefined {
  // Behind one that renames or makes fields it is not known what there is.
  const known = row.transforms.slice(
    0,
    1 + row.transforms.findIndex(({ type }) => type !== 'cast'),
  );
  const first = known.length === 0 ? row.transforms : known;
  const wrong = first.flatMap((transform) => wrongNames(transform, fields));
  if (wrong.length === 0) return undefined;
  return {
    isCertain: true,
    because: wrong
      .map(({ from, to }) => `no record has \`${from}\`, and all have \`${to}\``)
      .join('; '),
    edits: wrong.map(({ path, from, to }): Edit => ({
      kind: 'rename',
      steps: [...stepsOf(joinPath(path, 'config', 'fields')), from],
      to,
    })),
  };
}

function wrongNames(
  { type, path, config: { fields: named } }: PlannedTransform,
  fields: readonly string[],
): { readonly path: string; readonly from: string; readonly to: string }[] {
  if (fields.length === 0 || !['cast', 'rename_field'].includes(type)) return [];
  const names = isObject(named) ? Object.keys(named) : [];
  return names.flatMap((from) => {
    if (fields.includes(from)) return [];
    const to = nearest(
      from,
      fields.filter((field) => !names.includes(field)),
    );
    return to === undefined ? [] : [{ path, from, to }];
  });
}

/** What is left is put aside, and the run goes on. */
export function asideProposal(row: PlannedRow, { faults }: Look): Proposal | undefined {
  const isStrict = ({ config }: { readonly config: JsonObject }): boolean =>
    (config['on_error'] ?? 'error') === 'error';
  const stages = new Set(faults.map(({ stage }) => stage));
  const edits: Edit[] = [];
  if (stages.has('source') && isStrict(row.source))
    edits.push(set(joinPath(row.source.path, 'config', 'on_error'), 'dlq'));
  for (const transform of row.transforms)
    if (transform.type === 'cast' && stages.has('transform cast') && isStrict(transform))
      edits.push(set(joinPath(transform.path, 'config', 'on_error'), 'dlq'));
  if (stages.has('contract')) edits.push(set('pipeline.contract.on_breach', 'quarantine'));
  if (edits.length === 0) return undefined;
  return {
    because: 'what cannot be mended is put aside with its reason, and the run goes on',
    edits: row.dlq === undefined ? [...edits, set('pipeline.dlq', DLQ)] : edits,
  };
}

const DLQ = { sink: { type: 'jsonl', config: { path: 'rejected.jsonl' } } };

function set(path: string, value: JsonValue): Edit {
  return { kind: 'set', steps: stepsOf(path), value };
}

function quoted(texts: ReadonlySet<string>): string {
  return [...texts].map((text) => JSON.stringify(text)).join(', ');
}

export interface Worst {
  readonly fault: Fault;
  readonly count: number;
}

/** The values that stand in the way of most records. */
export function worstOf(faults: readonly Fault[], most: number): Worst[] {
  const groups = Map.groupBy(
    faults,
    ({ stage, field, value, message }) =>
      `${stage}\n${field ?? message.replaceAll(/\d+/g, '#')}\n${field === undefined ? '' : stringifyJson(value ?? null)}`,
  );
  return [...groups.values()]
    .flatMap((group) => (group[0] === undefined ? [] : [{ fault: group[0], count: group.length }]))
    .toSorted((one, two) => two.count - one.count)
    .slice(0, most);
}
