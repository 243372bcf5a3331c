/** The changes of a table of DynamoDB Local, which is Amazon's own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clientOf,
  makeTable,
  putAll,
  remove,
} from '../../../../test/conformance/fixtures/dynamodb.ts';
import { loginFields } from '../../../../test/conformance/fixtures/aws.ts';
import { sourceContext } from '../../../../test/fakes/env.ts';
import { dynamodbLocal } from '../../../../test/servers/aws.ts';
import type { TestServer } from '../../../../test/servers/test-servers.ts';
import { RECORDS_LANE } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { dynamodbSource } from '../index.ts';

const START_MS = 120_000;

describe.skipIf(dynamodbLocal.start === undefined)('changes in DynamoDB Local', () => {
  let server: TestServer | undefined;
  let table: string;
  const url = (): string => server?.url ?? '';

  beforeAll(async () => {
    server = await dynamodbLocal.start?.();
    table = await makeTable(url(), [['id', 'N']]);
    await clientOf(url()).updateTable({
      TableName: table,
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    });
  }, START_MS);
  afterAll(() => server?.stop());

  const read = async (bookmark?: JsonValue, more: JsonObject = {}) => {
    const checked = check(dynamodbSource.config, {
      table_name: table,
      endpoint_url: url(),
      ...loginFields,
      mode: 'streams',
      poll_interval_ms: 200,
      idle_termination_secs: 2,
      ...more,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const source = await dynamodbSource.open(checked.value, sourceContext());
    const records: JsonObject[] = [];
    let last = bookmark;
    try {
      const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
      for await (const page of source.pages(request)) {
        records.push(...(page.records() as JsonObject[]));
        last = page.bookmark ?? last;
      }
    } finally {
      await source.close();
    }
    return { records, bookmark: last };
  };

  it(
    'are read from a bookmark on, with both images',
    async () => {
      const item = {
        id: 1,
        big: 12_345_678_901_234_567_890n,
        half: 0.5,
        list: [true, null],
        v: 'é',
      };
      await putAll(url(), table, [item]);
      const first = await read();
      expect(first.records).toEqual([
        {
          op: 'c',
          table,
          document_key: { id: 1 },
          before: null,
          after: item,
          sequence_number: expect.any(String) as unknown,
          shard_id: expect.stringMatching(/^shardId-/) as unknown,
          ts_ms: expect.any(Number) as unknown,
        },
      ]);
      await putAll(url(), table, [{ id: 1, v: 'b' }]);
      await remove(url(), table, [{ id: { N: '1' } }]);
      const { records } = await read(first.bookmark);
      expect(records.map(({ op, before, after }) => ({ op, before, after }))).toEqual([
        { op: 'u', before: item, after: { id: 1, v: 'b' } },
        { op: 'd', before: { id: 1, v: 'b' }, after: null },
      ]);
    },
    START_MS,
  );

  it(
    'from now on begin behind those that are there',
    async () => {
      const first = await read(undefined, { start_position: 'latest' });
      expect(first.records).toEqual([]);
    },
    START_MS,
  );
});
