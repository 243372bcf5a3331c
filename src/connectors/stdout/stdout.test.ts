import { describe, expect, it } from 'vitest';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { stdoutSink } from './index.ts';
import { openStdout, type Output } from './sink.ts';

class FakeStream implements Output {
  readonly chunks: string[] = [];
  failure: Error | undefined;

  write(bytes: Uint8Array, done: (error?: Error | null) => void): boolean {
    if (this.failure === undefined) this.chunks.push(Buffer.from(bytes).toString());
    done(this.failure);
    return true;
  }

  on(): void {}

  off(): void {}
}

function open(value: JsonObject, stream: FakeStream) {
  const checked = check(stdoutSink.config, value);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return openStdout(checked.value, { context: testContext('/'), stream });
}

async function print(value: JsonObject, ...records: JsonValue[]): Promise<string[]> {
  const stream = new FakeStream();
  const sink = open(value, stream);
  expect(await sink.write(Page.ofRecords(records), { partial: false })).toEqual({
    written: records.length,
    rejected: [],
  });
  await sink.close();
  return stream.chunks;
}

describe('the stdout sink', () => {
  it('prints one JSON value a line, or indented', async () => {
    expect(await print({}, { b: 1, a: [2] }, 3)).toEqual(['{"b":1,"a":[2]}\n3\n']);
    expect(await print({ format: 'jsonl' }, 3)).toEqual(['3\n']);
    expect(await print({ format: 'pretty_json' }, { a: 1 })).toEqual(['{\n  "a": 1\n}\n']);
  });

  it('prints tsv and csv with sorted fields and no header', async () => {
    const record = { b: 'x\t"y"\n', a: null, c: { d: 1 } };
    expect(await print({ format: 'tsv' }, record)).toEqual(['\tx "y" \t{"d":1}\n']);
    expect(await print({ format: 'csv' }, record)).toEqual([',"x\t""y""\n","{""d"":1}"\n']);
    expect((await failureOf(print({ format: 'csv' }, 5))).message).toMatch(/csv needs objects/);
  });

  it('hands over record by record when asked', async () => {
    expect(await print({ flush_per_record: true }, 1, 2)).toEqual(['1\n', '2\n']);
  });

  it('shows no more than max_records but takes all', async () => {
    expect(await print({ max_records: 2 }, 1, 2, 3)).toEqual(['1\n2\n']);
    expect(await print({ max_records: 0 }, 1)).toEqual([]);
  });

  it('takes a reader that went away for a clean end, and nothing else', async () => {
    const stream = new FakeStream();
    const sink = open({}, stream);
    stream.failure = Object.assign(new Error('gone'), { code: 'EPIPE' });
    expect(await sink.write(Page.ofRecords([1]), { partial: false })).toEqual({
      written: 1,
      rejected: [],
    });
    const other = open({ destination: 'stderr' }, stream);
    stream.failure = Object.assign(new Error('full'), { code: 'ENOSPC' });
    expect(await failureOf(other.write(Page.ofRecords([1]), { partial: false }))).toEqual({
      kind: 'refused',
      message: 'cannot write to stderr: no space is left on the device',
    });
  });

  it('has examples that parse', () => {
    for (const example of stdoutSink.examples)
      expect(check(stdoutSink.config, example)).toMatchObject({ ok: true });
  });
});
