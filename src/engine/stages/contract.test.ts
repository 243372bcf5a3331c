import { describe, expect, it } from 'vitest';
import { contractSchema } from '../../blocks/contract/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { compileContract } from './contract-breach.ts';
import { createContractStage } from './contract.ts';
import { Page } from '../../kit/page.ts';
import { PageInWork, type DeadRecord } from './stage.ts';
import { runStage, testContext, type StageOutcome } from '../../../test/support/stages.ts';

const BIG = 9_007_199_254_740_993n;

function ruleBroken(contract: JsonObject, record: JsonValue): string | undefined {
  return compileContract(contractSchema.parse({ version: '1', ...contract }))(record)?.rule;
}

const field = (more: JsonObject): JsonObject => ({ fields: [{ name: 'v', ...more }] });

describe('a field', () => {
  const text = { type: 'string', enum: ['ab', 'abc', 'x'], pattern: '(?i)^A', min_length: 3 };

  it.each<[JsonObject, JsonValue, string | undefined]>([
    [{ type: 'string' }, {}, 'missing'],
    [{ type: 'string', required: false, min_length: 1 }, {}, undefined],
    [{ type: 'string', required: false }, { v: null }, 'null'],
    [{ type: 'string', nullable: true, min_length: 1 }, { v: null }, undefined],
    [{ type: 'string' }, { v: 1 }, 'type'],
    [{ type: 'integer' }, { v: 1.5 }, 'type'],
    [{ type: 'integer' }, { v: BIG }, undefined],
    [{ type: 'integer' }, { v: 1e300 }, 'type'],
    [{ type: 'number' }, { v: BIG }, undefined],
    [{ type: 'boolean' }, { v: 'true' }, 'type'],
    [{ type: 'object' }, { v: [] }, 'type'],
    [{ type: 'array' }, { v: [] }, undefined],
    [text, { v: 'other' }, 'enum'],
    [text, { v: 'x' }, 'pattern'],
    [text, { v: 'ab' }, 'length'],
    [text, { v: 'abc' }, undefined],
    [{ type: 'integer', min: 1, max: 5 }, { v: 0 }, 'range'],
    [{ type: 'integer', min: 1, max: 5 }, { v: 5 }, undefined],
    [{ type: 'integer', max: 5 }, { v: BIG }, 'range'],
    [{ type: 'string', max_length: 2 }, { v: '😀😀' }, undefined],
    [{ type: 'string', max_length: 2 }, { v: '😀😀a' }, 'length'],
    [{ type: 'string' }, 'text', 'not_object'],
  ])('%o of %o breaks the rule %s', (more, record, rule) => {
    expect(ruleBroken(field(more), record)).toBe(rule);
  });

  it('is not found among inherited names', () => {
    expect(ruleBroken({ fields: [{ name: 'constructor', type: 'string' }] }, {})).toBe('missing');
  });
});

describe('a record', () => {
  const contract = {
    allow_extra_fields: false,
    fields: [
      { name: 'a', type: 'string' },
      { name: 'b', type: 'integer' },
    ],
  };

  it('ends at its first breach: fields in the order listed, then extra ones', () => {
    expect(ruleBroken(contract, { x: 1, b: 'no' })).toBe('missing');
    expect(ruleBroken(contract, { x: 1, b: 'no', a: '' })).toBe('type');
    expect(ruleBroken(contract, { x: 1, b: 1, a: '' })).toBe('extra_field');
    expect(
      ruleBroken({ ...contract, allow_extra_fields: true }, { x: 1, b: 1, a: '' }),
    ).toBeUndefined();
  });
});

describe('a breach', () => {
  const records: JsonValue[] = [{ pin: '1' }, { pin: 'hunter2' }, { pin: '2' }, {}];

  function run(onBreach: string, context = testContext()): Promise<StageOutcome> {
    const block = {
      version: '2.1',
      on_breach: onBreach,
      fields: [{ name: 'pin', type: 'string', pattern: '^[0-9]+$' }],
    };
    return runStage(createContractStage(contractSchema.parse(block), context), records);
  }

  it('fails the run naming version, field, rule and record, never the value', async () => {
    const context = testContext();
    await expect(run('fail', context)).rejects.toMatchObject({
      name: 'RunError',
      kind: 'ContractViolation',
      code: 'contract_breach',
      message: 'contract 2.1 is broken: `pin` must match `^[0-9]+$` (pattern)',
      index: 1,
    });
    expect(context.counts).toEqual(
      new Map([
        ['svc_contract_violations_total{pipeline=p,row=r,field=pin,rule=pattern,mode=fail}', 1],
        ['svc_contract_aborts_total{pipeline=p,row=r}', 1],
      ]),
    );
  });

  it('splits the page under quarantine, and the index of each record stays', async () => {
    const { records: kept, origins, dead } = await run('quarantine');
    expect(kept).toEqual([{ pin: '1' }, { pin: '2' }]);
    expect(origins).toEqual([0, 2]);
    expect(dead).toEqual([
      {
        kind: 'ContractViolation',
        reason: 'contract',
        message: '`pin` must match `^[0-9]+$` (pattern)',
        payload: { pin: 'hunter2' },
        index: 1,
      },
      {
        kind: 'ContractViolation',
        reason: 'contract',
        message: '`pin` is missing (missing)',
        payload: {},
        index: 3,
      },
    ]);
  });

  it('keeps the index with which records came when earlier stages took some away', async () => {
    const contract = contractSchema.parse({
      version: '1',
      on_breach: 'quarantine',
      fields: [{ name: 'a', type: 'string' }],
    });
    const dead: DeadRecord[] = [];
    const page = new PageInWork(Page.ofRecords([0, 0, 0, { a: '' }, 0, {}]), dead);
    page.divert(new Map([0, 1, 2, 4].map((position) => [position, 'odd'])), {
      kind: 'QualityFailure',
      reason: 'quality',
    });
    await createContractStage(contract, testContext()).run(page);
    expect([page.originOf(0), page.count]).toEqual([3, 1]);
    expect(dead.map(({ index }) => index)).toEqual([0, 1, 2, 4, 5]);
  });

  it('is logged once and always counted under warn, and everything is written', async () => {
    const context = testContext();
    const stage = createContractStage(
      contractSchema.parse({
        version: '1',
        on_breach: 'warn',
        fields: [{ name: 'a', type: 'string' }],
      }),
      context,
    );
    const { records: kept, dead } = await runStage(stage, [{}, { a: 1 }]);
    await runStage(stage, [{}]);
    expect([kept, dead]).toEqual([[{}, { a: 1 }], []]);
    expect(context.lines).toEqual([
      'WARN test: contract 1 is broken: `a` is missing (missing); further breaches are only counted field=a rule=missing',
    ]);
    expect(
      context.counts.get(
        'svc_contract_violations_total{pipeline=p,row=r,field=a,rule=missing,mode=warn}',
      ),
    ).toBe(2);
  });

  it('by endless different extra fields does not make endless labels', async () => {
    const context = testContext();
    const block = {
      version: '1',
      on_breach: 'warn',
      allow_extra_fields: false,
      fields: [{ name: 'a', type: 'string', required: false }],
    };
    const stage = createContractStage(contractSchema.parse(block), context);
    await runStage(
      stage,
      Array.from({ length: 150 }, (_, i) => ({ [`k${i}`]: 1 })),
    );
    expect(context.counts.size).toBe(101);
    expect(
      context.counts.get(
        'svc_contract_violations_total{pipeline=p,row=r,field=…,rule=extra_field,mode=warn}',
      ),
    ).toBe(50);
  });
});
