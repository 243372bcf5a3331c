/** Clauses about what a definition offers besides reading: shape, data sets, slices, digests. */
import type { Share } from '../../kit/share.ts';
import type { KeySpan, ResultShape, Slices } from '../../kit/source.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { SourceClause } from './clause.ts';
import { assertSame, assertThat, shown } from './difference.ts';
import type { SourceSubject } from './subject.ts';

const describe: SourceClause = {
  name: 'describe',
  title: 'describes the columns that its records have',
  inapplicable: ({ definition }) =>
    definition.describe === undefined ? 'it describes nothing' : undefined,
  async check(subject) {
    const { columns } = await describedShape(subject);
    if (columns.length === 0) return;
    const listed = columns.map(({ name }) => name);
    for (const record of (await subject.whole()).records) {
      const [found, wanted] = [
        Object.keys(isObject(record) ? record : {}).sort(),
        listed.toSorted(),
      ];
      assertThat(found.join() === wanted.join(), `has ${found.join()}, describes ${wanted.join()}`);
    }
  },
};

const discover: SourceClause = {
  name: 'discover',
  title: 'finds data sets that can be read, each with the schema it is said to have',
  inapplicable: ({ definition }) =>
    definition.discover === undefined ? 'it discovers nothing' : undefined,
  async check(subject) {
    const { definition, config } = subject;
    const found = (await definition.discover?.(subject.parse(config), subject.context())) ?? [];
    assertThat(found.length > 0, 'nothing is found where there are records');
    const names = found.map(({ name }) => name);
    assertThat(new Set(names).size === names.length, `names repeat: ${names.join(', ')}`);
    for (const { name, kind, schema, config_patch: patch } of found) {
      assertThat(name.trim() !== '' && kind.trim() !== '', 'a data set without name or kind');
      const { records } = await subject.with({ ...config, ...patch }).read();
      const properties = schema?.['properties'];
      if (!isObject(properties ?? null)) continue;
      for (const record of records) assertFits(record, properties as JsonObject, name);
    }
  },
};

const TYPES: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: (value) => typeof value === 'bigint' || Number.isInteger(value),
  number: (value) => typeof value === 'number' || typeof value === 'bigint',
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
  null: (value) => value === null,
};

/** Only what a schema says of types is looked at. */
function assertFits(record: JsonValue, properties: JsonObject, name: string): void {
  for (const [field, value] of Object.entries(isObject(record) ? record : {})) {
    const property = properties[field];
    assertThat(isObject(property ?? null), `${name}: the schema lacks \`${field}\``);
    const type = (property as JsonObject)['type'];
    if (type === undefined) continue;
    const types = Array.isArray(type) ? type : [type];
    const fits = value === null || types.some((one) => TYPES[jsonText(one)]?.(value) === true);
    assertThat(fits, `${name}: \`${field}\` is ${shown(value)}, not ${shown(type)}`);
  }
}

const slices: SourceClause = {
  name: 'slices',
  title: 'gives the whole exactly once when it is read in slices',
  inapplicable: whyNotSliced,
  async check(subject) {
    const { slices: offered, key } = slicesOf(subject);
    const { records: all } = await subject.whole();
    const keys = all.map((record) => keyOf(record, key));
    const whole = keys.filter((value) => value !== null);
    const [low, high] = [whole.reduce(lesser), whole.reduce(greater)];
    const bounds = await readOne(subject, offered.bounds(subject.parse(subject.config), key));
    assertThat(
      jsonText(bounds['low'] ?? null) === `${low}` &&
        jsonText(bounds['high'] ?? null) === `${high}`,
      `the bounds are ${shown(bounds)}, not ${low} and ${high}`,
    );
    assertThat(Number(bounds['strange']) === 0, 'some keys are called strange');
    for (const cuts of cutsOf(low, high)) {
      const parts: JsonValue[] = [];
      for (const span of spansOf(cuts)) {
        const { records } = await readParsed(subject, (config) =>
          offered.within(config, key, [span]),
        );
        for (const record of records)
          assertThat(lies(keyOf(record, key), span), `${shown(record)} lies in another slice`);
        parts.push(...records);
      }
      assertSame(parts.map(shown).sort(), all.map(shown).sort(), `cut at ${cuts.join(', ')}`);
    }
  },
};

const shares: SourceClause = {
  name: 'shares',
  title: 'gives the whole exactly once when it is divided into shares',
  inapplicable: ({ definition, config }) =>
    definition.divides?.(config) === undefined ? 'its config cannot be divided' : undefined,
  async check(subject) {
    const { records: all } = await subject.whole();
    for (const count of [1, 2, 5]) {
      const parts: JsonValue[] = [];
      for (let index = 0; index < count; index += 1) {
        const { records } = await readParsed(subject, (config) => config, { index, count });
        parts.push(...records);
      }
      assertSame(parts.map(shown).sort(), all.map(shown).sort(), `divided by ${count}`);
    }
  },
};

function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function whyNotSliced({ definition, fixture }: SourceSubject): string | undefined {
  if (definition.slices === undefined) return 'it cannot be read in slices';
  return fixture.sliceKey === undefined ? 'its fixture names no key' : undefined;
}

function slicesOf({ definition, fixture }: SourceSubject): {
  slices: Slices<unknown>;
  key: string;
} {
  return { slices: definition.slices as Slices<unknown>, key: fixture.sliceKey ?? '' };
}

function keyOf(record: JsonValue, key: string): bigint | null {
  const value = isObject(record) ? (record[key] ?? null) : null;
  return value === null ? null : BigInt(value as number);
}

/** No cut, cuts at and between values, and beyond both ends. */
function cutsOf(low: bigint, high: bigint): bigint[][] {
  const middle = (low + high) / 2n;
  return [[], [middle], [low, middle, high], [low - 5n, high + 1n, high + 5n]];
}

function spansOf(cuts: readonly bigint[]): KeySpan[] {
  return Array.from({ length: cuts.length + 1 }, (_, index) => {
    const [from, to] = [cuts[index - 1], cuts[index]];
    return {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      nulls: index === cuts.length,
    };
  });
}

function lies(value: bigint | null, { from, to, nulls }: KeySpan): boolean {
  if (value === null) return nulls;
  return (from === undefined || value >= from) && (to === undefined || value < to);
}

async function readParsed(
  subject: SourceSubject,
  change: (config: unknown) => unknown,
  share?: Share,
): Promise<{ records: JsonValue[] }> {
  const { definition, config } = subject;
  const context = subject.context({ share });
  const source = await definition.open(change(subject.parse(config)), context);
  const records: JsonValue[] = [];
  try {
    for await (const page of source.pages({ lane: { form: 'records' } }))
      records.push(...page.records());
    return { records };
  } finally {
    await source.close();
  }
}

async function readOne(subject: SourceSubject, config: unknown): Promise<JsonObject> {
  const { records } = await readParsed(subject, () => config);
  const [record] = records;
  assertThat(records.length === 1 && isObject(record), `${records.length} records, not one`);
  return record;
}

const digests: SourceClause = {
  name: 'digests',
  title: 'digests all records of a stretch, equal ones alike, and notices a change',
  inapplicable: (subject) =>
    whyNotSliced(subject) ??
    (subject.definition.slices?.digests === undefined ? 'it computes no digests' : undefined),
  async check(subject) {
    const { key } = slicesOf(subject);
    const { records: all } = await subject.whole();
    const keys = all.map((record) => keyOf(record, key)).filter((value) => value !== null);
    const cut = (keys.reduce(lesser) + keys.reduce(greater)) / 2n;
    const first = await digestsOf(subject, [cut]);
    assertSame(await digestsOf(subject, [cut]), first, 'asked again');
    const rows = first.reduce((sum, part) => sum + Number(part['rows']), 0);
    assertThat(rows === all.length, `they count ${rows} of ${all.length} records`);
    for (const part of first) assertCounted(part, all, { key, cut });
    const changed = await subject.fixture.change?.(subject.config);
    if (changed === undefined) return;
    const texts = (parts: readonly JsonObject[]): string =>
      parts.map((part) => jsonText(part['digest'] ?? null)).join();
    assertThat(
      texts(await digestsOf(subject, [cut])) !== texts(first),
      'records changed and no digest did',
    );
  },
};

function assertCounted(
  part: JsonObject,
  all: readonly JsonValue[],
  { key, cut }: { key: string; cut: bigint },
): void {
  const place = part['part'] ?? null;
  const inside = all.filter((record) => {
    const value = keyOf(record, key);
    return value === null ? place === null : Number(place) === (value < cut ? 0 : 1);
  });
  const counted = place === null ? inside.filter((one) => keyOf(one, key) === null) : inside;
  assertThat(
    Number(part['rows']) === counted.length,
    `part ${shown(place)} counts ${shown(part['rows'])} of ${counted.length} records`,
  );
}

async function digestsOf(subject: SourceSubject, cuts: readonly bigint[]): Promise<JsonObject[]> {
  const { slices: offered, key } = slicesOf(subject);
  const shape = await describedShape(subject);
  const columns = shape.columns.map(({ name }) => name);
  const { records } = await readParsed(subject, (config) =>
    offered.digests?.config(config, { key, cuts, spans: spansOf([]), columns, shape }),
  );
  return (records as JsonObject[]).sort((a, b) => (shown(a) < shown(b) ? -1 : 1));
}

async function describedShape(subject: SourceSubject): Promise<ResultShape> {
  const { definition, config } = subject;
  const found = await definition.describe?.(subject.parse(config), subject.context());
  return found ?? { columns: [] };
}

export const CAPABILITY_CLAUSES: readonly SourceClause[] = [
  describe,
  discover,
  slices,
  shares,
  digests,
];
