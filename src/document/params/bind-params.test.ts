import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { issuesOf, load, loadOptions, refusalOf } from '../../../test/fakes/documents.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { Redactor } from '../../lib/redact.ts';
import type { Binding } from './bind-params.ts';
import type { Document } from '../document.ts';
import type { LoadOptions } from '../load.ts';
import { restoreEscapes } from '../tokens/tokens.ts';

function bind(params: JsonObject, body: JsonObject, options: Partial<LoadOptions> = {}): Document {
  return load(JSON.stringify({ params, ...body }), { format: 'json', ...options });
}

/** What `${param.p}` by itself becomes. */
function valueOf(entry: JsonObject, binding: Binding = {}): JsonValue | undefined {
  return restoreEscapes(bind({ p: entry }, { x: '${param.p}' }, binding).tree['x'] ?? null);
}

function faults(
  params: JsonObject,
  body: JsonObject = {},
  options: Partial<LoadOptions> = {},
): string[] {
  return issuesOf(() => bind(params, body, options));
}

describe('values (spec 2.7)', () => {
  test.each<[string, JsonValue, JsonValue]>([
    ['string', 'a', 'a'],
    ['string', 1.5, '1.5'],
    ['string', true, 'true'],
    ['string', '', ''],
    ['int', 7, 7],
    ['int', ' -7 ', -7],
    ['int', '+7', 7],
    ['float', 7, 7],
    ['float', '1e3', 1000],
    ['float', ' .5 ', 0.5],
    ['bool', true, true],
    ['bool', 'Yes', true],
    ['bool', '0', false],
    ['bool', 'NO', false],
  ])('a %s takes %j as %j', (type, supplied, expected) => {
    expect(valueOf({ type }, { params: { p: supplied } })).toEqual(expected);
  });

  test.each<[string, JsonValue]>([
    ['string', null],
    ['string', ['a']],
    ['string', { a: 1 }],
    ['int', 1.5],
    ['int', '1.5'],
    ['int', ''],
    ['int', true],
    ['int', '0x10'],
    ['float', 'NaN'],
    ['float', '1e999'],
    ['float', 'one'],
    ['bool', 'maybe'],
    ['bool', 1],
  ])('a %s is not %j', (type, supplied) => {
    expect(faults({ p: { type } }, {}, { params: { p: supplied } })).toEqual([
      'param_type params.p',
    ]);
  });

  test('integers keep every digit', () => {
    expect(valueOf({ type: 'int' }, { params: { p: '9007199254740993' } })).toBe(9007199254740993n);
  });

  test('a supplied value comes before the default', () => {
    expect(valueOf({ default: 'd' })).toBe('d');
    expect(valueOf({ default: 'd' }, { params: { p: 's' } })).toBe('s');
  });

  test.each<[string, JsonValue, boolean]>([
    ['string', 1, true],
    ['int', 1, true],
    ['int', '1', false],
    ['float', 1, true],
    ['float', '1', false],
    ['bool', 'true', false],
    ['bool', false, true],
    ['string', null, false],
  ])('as a default a %s takes %j: %s', (type, value, isFine) => {
    const act = (): unknown => bind({ p: { type, default: value } }, {});
    if (isFine) act();
    else expect(refusalOf(act).issues[0]?.path).toBe('params.p.default');
  });

  test('what does not fit is reported as it was given: a number is no text', () => {
    const reported = (fallback: JsonValue): string | undefined =>
      refusalOf(() => bind({ p: { type: 'int', default: fallback } }, {})).issues[0]?.message;
    expect(reported(1.5)).toBe('the parameter `p` is of type `int`, which 1.5 is not');
    expect(reported('1')).toBe('the parameter `p` is of type `int`, which "1" is not');
  });

  test('a default may hold tokens, and is then read like a supplied text', () => {
    const variables = { N: '12', NAME: 'x' };
    expect(
      bind({ p: { type: 'int', default: '${env:N}' } }, { x: '${param.p}' }, { variables }).tree,
    ).toEqual({
      params: { p: { type: 'int', default: 12 } },
      x: 12,
    });
    expect(
      bind(
        { p: { default: '${vars.v}' } },
        { vars: { v: '${env:NAME}y' }, x: 'a${param.p}' },
        { variables },
      ).tree['x'],
    ).toBe('axy');
    expect(faults({ p: { type: 'int', default: '${env:NAME}' } }, {}, { variables })).toEqual([
      'param_type params.p.default',
    ]);
  });

  test('a default may bring run-time tokens in, a supplied value may not', () => {
    expect(valueOf({ default: '${now.date}' })).toBe('${now.date}');
    expect(faults({ p: {} }, {}, { params: { p: '${now.date}' } })).toEqual([
      'param_value params.p',
    ]);
  });

  test('of a closed set only those count, and the set is named', () => {
    expect(valueOf({ type: 'int', values: [1, 2] }, { params: { p: '2' } })).toBe(2);
    const { issues } = refusalOf(() =>
      bind({ p: { type: 'int', values: [1, 2] } }, {}, { params: { p: '3' } }),
    );
    expect(issues).toMatchObject([
      { code: 'param_value', message: 'the parameter `p` cannot be `3`', hint: 'one of: 1, 2' },
    ]);
    expect(faults({ p: { values: ['a'], default: 'b' } })).toEqual([
      'param_value params.p.default',
    ]);
    expect(faults({ p: { type: 'bool', values: ['true'] } })).toEqual([
      'param_type params.p.values[0]',
    ]);
  });
});

describe('use', () => {
  test('a whole text takes the type, an embedded parameter is text; keys are texts', () => {
    const { tree } = bind(
      { n: { type: 'int', default: 5 } },
      { a: ['${param.n}', '${param.n} ', '-${param.n}'], '${param.n}': 1 },
    );
    expect(tree).toMatchObject({ a: [5, '5 ', '-5'], '5': 1 });
  });

  test('`vars` and presets may use parameters, as text', () => {
    const body = {
      vars: { v: '${param.n}' },
      pipeline: { source: { config: { m: '${param.n}' } } },
      x: '${vars.v}|${sources.default.m}',
    };
    expect(bind({ n: { type: 'int', default: 5 } }, body).tree).toMatchObject({
      vars: { v: 5 },
      x: '5|5',
    });
  });

  test('other tokens may be built with them', () => {
    expect(bind({ which: { default: 'NAME' } }, { x: '${env:${param.which}}' }).tree['x']).toBe(
      'value',
    );
  });

  test('a value is data, whatever follows it', () => {
    const { tree } = bind(
      { p: {}, q: { default: '$${x}' } },
      { x: '${param.p}{env:NAME}', y: '${param.p}${param.q}' },
      { params: { p: 'a$' } },
    );
    expect(restoreEscapes(tree)).toMatchObject({ x: 'a${env:NAME}', y: 'a$${x}' });
  });

  test('an unknown, an empty, a nested and a missing one are distinguished', () => {
    expect(
      faults(
        { p: {} },
        { a: '${param.q}', b: '${param.}', c: '${param}', d: '${param.p.x}', e: '${param.p}' },
      ),
    ).toEqual([
      'unknown_param a',
      'invalid_token b',
      'invalid_token c',
      'invalid_token d',
      'missing_param e',
    ]);
  });

  test('one that is optional and absent matters only where it is used', () => {
    expect(bind({ p: { type: 'int' } }, { a: 1 }).params).toEqual({});
  });
});

describe('what is supplied', () => {
  test('must be declared', () => {
    const { issues, stage } = refusalOf(() => bind({ day: {} }, {}, { params: { dya: 1 } }));
    expect(stage).toBe('validate');
    expect(issues).toMatchObject([
      { code: 'undeclared_param', path: 'params', hint: 'did you mean `day`?' },
    ]);
    expect(refusalOf(() => load('a: 1', { params: { day: 1 } })).issues[0]?.hint).toBe(
      'the document declares none',
    );
  });

  test('must cover what is required, whose description is reported', () => {
    const { issues, stage } = refusalOf(() =>
      bind({ day: { required: true, description: 'the day to load' } }, {}),
    );
    expect([stage, issues[0]?.code, issues[0]?.message]).toEqual([
      'validate',
      'missing_param',
      'the parameter `day` is required: the day to load',
    ]);
  });

  test('a missing variable comes first: it decides the stage', () => {
    expect(refusalOf(() => bind({ day: { required: true } }, { a: '${env:GONE}' })).stage).toBe(
      'interpolate',
    );
  });

  test('may replace variables for this document only', () => {
    const variables = Object.freeze({ NAME: 'caller', OTHER: 'other' });
    const { tree } = bind(
      {},
      { a: '${env:NAME} ${secret:NEW} ${env:OTHER}' },
      { variables, paramEnv: { NAME: 'mine', NEW: 'new' } },
    );
    expect(tree['a']).toBe('mine new other');
  });
});

describe('placeholders', () => {
  const params = {
    s: { required: true, secret: true },
    i: { required: true, type: 'int' },
    f: { type: 'float' },
    b: { required: true, type: 'bool' },
    v: { required: true, values: ['eu', 'us'] },
    d: { default: 'given' },
    c: { computed: '${map:s|a=1|b=2}' },
  };
  const body = {
    x: [
      '${param.s}',
      '${param.i}',
      '${param.f}',
      '${param.b}',
      '${param.v}',
      '${param.d}',
      '${param.c}',
      '${map:v|eu=e|us=u}',
    ],
  };

  test('stand for what nobody supplied when a document is only checked', () => {
    expect(bind(params, body, { paramMode: 'placeholders' }).tree['x']).toEqual([
      '<param>',
      0,
      0,
      false,
      'eu',
      'given',
      '1',
      'e',
    ]);
  });

  test('one supplied value makes it strict', () => {
    expect(
      faults(params, {}, { paramMode: 'placeholders', params: { d: 'x' } }).slice(0, 2),
    ).toEqual(['missing_param params.s', 'missing_param params.i']);
    expect(faults({ p: { required: true } })).toEqual(['missing_param params.p']);
  });
});

describe('computed', () => {
  test('derives texts from others, in any order', () => {
    const params = {
      url: { computed: 'https://${param.host}/${map:env|prod=v1|*=v${param.n}}' },
      host: { computed: '${map:env|prod=example.com|*=${param.env}.example.com}' },
      env: { default: 'test' },
      n: { type: 'int', default: 2 },
      whole: { computed: '${param.n}' },
    };
    const at = (env?: string): JsonValue | undefined =>
      bind(params, { x: '${param.url}' }, env === undefined ? {} : { params: { env } }).tree['x'];
    expect(at()).toBe('https://test.example.com/v2');
    expect(at('prod')).toBe('https://example.com/v1');
    expect(bind(params, {}).params).toMatchObject({ whole: '2', n: 2, host: 'test.example.com' });
  });

  test('cannot be supplied, and cannot go together with what makes no sense for it', () => {
    expect(faults({ p: { computed: 'x' } }, {}, { params: { p: 'y' } })).toEqual([
      'param_value params.p',
    ]);
    const keys: JsonObject[] = [
      { required: true },
      { default: 'a' },
      { secret: true },
      { values: ['a'] },
    ];
    for (const key of keys) {
      expect(faults({ p: { computed: 'x', ...key } })).toEqual([
        `conflicting_keys params.p.${Object.keys(key)[0]}`,
      ]);
    }
  });

  test('a circle is reported once, with sorted names', () => {
    const { issues } = refusalOf(() =>
      bind(
        {
          z: { computed: '${param.b}' },
          b: { computed: '${map:a|*=1}' },
          a: { computed: '${param.z}' },
          x: { computed: '${param.a}' },
        },
        {},
      ),
    );
    expect(issues.map((issue) => issue.message)).toEqual([
      'computed parameters depend on each other: a, b, z',
    ]);
  });

  test('may use nothing but parameters, lookups and what comes from outside', () => {
    expect(
      faults({ p: { computed: '${now.date} ${vars.v} ${row.id}' } }, { vars: { v: 1 } }),
    ).toEqual(Array.from({ length: 3 }, () => 'token_out_of_scope params.p.computed'));
    expect(bind({ p: { computed: '${env:NAME} $${x}' } }, {}).params).toEqual({ p: 'value ${x}' });
  });

  test('doubling and long chains end at a bound', () => {
    const link = (i: number, use: string): JsonObject =>
      i === 0 ? { default: 'x'.repeat(100) } : { computed: use.replaceAll('N', String(i - 1)) };
    const chain = (count: number, use: string): JsonObject =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, link(i, use)]));
    expect(faults(chain(40, '${param.pN}${param.pN}')).map((text) => text.split(' ')[0])).toContain(
      'too_large',
    );
    const backwards = Object.fromEntries(Object.entries(chain(5000, '${param.pN}')).reverse());
    expect(faults(backwards).map((text) => text.split(' ')[0])).toContain('invalid_token');
  });
});

describe('lookups', () => {
  const look = (token: string, region = 'eu'): JsonValue | undefined =>
    bind({ region: { default: region }, n: { type: 'int', default: 5 } }, { x: token }).tree['x'];

  test('choose by the text of a parameter; the last of two equal cases counts', () => {
    expect(look('${map:region|eu=1|us=2}')).toBe('1');
    expect(look('a${map:region| eu = b=c |*=x}d')).toBe('a b=c d');
    expect(look('${map:region|eu=1|eu=2}')).toBe('2');
    expect(look('${map:n|5=five}')).toBe('five');
    expect(look('${map:region|eu=|*=x}')).toBe('');
    expect(look('${map:region|us=1|*=${env:NAME}}')).toBe('value');
  });

  test('without a case are refused, naming parameter and value', () => {
    const { issues } = refusalOf(() => look('${map:region|us=1}'));
    expect(issues).toMatchObject([
      {
        code: 'lookup_unmatched',
        path: 'x',
        hint: 'cases are: us; add one, or `*=…` for all others',
      },
    ]);
    expect(issues[0]?.message).toBe(
      '`${map:region|…}` has no case for the value `eu` of the parameter `region`',
    );
    expect(issuesOf(() => look('${map:region|us}'))).toEqual(['invalid_token x']);
    expect(issuesOf(() => look('${map:gone|*=1}'))).toEqual(['unknown_param x']);
  });
});

describe('secrets', () => {
  test('are known to the redactor, masked when shown, and in no message', () => {
    const redactor = new Redactor();
    const document = bind(
      {
        token: { secret: true, required: true },
        url: { computed: 'x-${param.token}' },
        n: { type: 'int', secret: true, default: 123456 },
      },
      { a: '${param.token}' },
      { params: { token: 'canary-1' }, redactor },
    );
    expect(document.params).toEqual({ token: '***', url: '***', n: '***' });
    expect(document.tree['a']).toBe('canary-1');
    expect(redactor.text('x-canary-1 123456')).toBe('x-*** ***');
    const entries: JsonObject[] = [{ type: 'int' }, { values: ['a'] }];
    for (const entry of entries) {
      const { issues } = refusalOf(() =>
        bind({ token: { secret: true, ...entry } }, {}, { params: { token: 'canary-2' } }),
      );
      expect(JSON.stringify(issues)).not.toContain('canary-2');
    }
    const { issues } = refusalOf(() =>
      bind(
        { token: { secret: true } },
        { x: '${map:token|a=b}' },
        { params: { token: 'canary-3' } },
      ),
    );
    expect(JSON.stringify(issues)).not.toContain('canary-3');
  });
});

test('what is declared wrongly is reported once, not at every use', () => {
  expect(faults({ p: { defualt: 1 }, 'a b': {}, n: 5 }, { x: '${param.p}${param.n}' })).toEqual([
    'unknown_key params.p.defualt',
    'invalid_value params["a b"]',
    'wrong_type params.n',
  ]);
  expect(issuesOf(() => load('params: [a]'))).toEqual(['wrong_type params']);
  expect(faults({ p: { required: true, default: 1 } })).toEqual([
    'conflicting_keys params.p.default',
  ]);
});

test('the defaults of a server may declare what a submission uses', () => {
  const base = bind(
    { n: { type: 'int', default: '${env:N}' } },
    {},
    { variables: { N: '7' } },
  ).tree;
  expect(load('x: "${param.n}"', { base, origin: { kind: 'submitted' } }).tree['x']).toBe(7);
});

test('any text that is supplied comes back as it is', () => {
  const text = fc
    .string({ unit: 'binary' })
    .filter((one) => one.isWellFormed() && !one.includes('${') && !one.includes('\u0000'));
  fc.assert(
    fc.property(text, text, (value, around) => {
      const source = around.replaceAll('$', '_');
      const options = loadOptions({ format: 'json', params: { p: value } });
      const { tree } = bind(
        { p: {} },
        { whole: '${param.p}', part: `${source}\${param.p}{x}` },
        options,
      );
      expect(restoreEscapes(tree)).toMatchObject({ whole: value, part: `${source}${value}{x}` });
    }),
  );
});
