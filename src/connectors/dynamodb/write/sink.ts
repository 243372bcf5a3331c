import type { SinkContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import {
  requireOpen,
  type Rejection,
  type Sink,
  type WriteOptions,
  type WriteResult,
} from '../../../kit/sink.ts';
import { keyedSpec, settle, type KeyedSpec } from '../../../kit/write-spec.ts';
import { awsErrorName } from '../../../lib/aws/errors.ts';
import { ConnectorError, RecordError } from '../../../lib/errors.ts';
import { excerptOf } from '../../../lib/text/excerpt.ts';
import { atOnce, inBatches, sendAll, type Left } from '../../_http/batches.ts';
import { runRequests } from '../../_http/run-requests.ts';
import type { RequestRetry } from '../../_http/retry.ts';
import { expressionValues, type KeyField } from '../attributes.ts';
import type { DynamodbSinkConfig } from '../config.ts';
import { tableKey, tableRetry, type DynamodbLink } from '../link.ts';
import { keyText, plannedPage, plannedRecords, requestOf, type Change } from './changes.ts';
import { keyFault } from './key-fault.ts';

const MOST_REQUEST_BYTES = 16 * 1024 * 1024;

/** What came of a page besides the records that were written. */
interface Outcome {
  readonly rejected: Rejection[];
  skipped: number;
}

export class DynamodbSink implements Sink {
  readonly #config: DynamodbSinkConfig;
  readonly #context: SinkContext;
  readonly #link: DynamodbLink;
  readonly #retry: RequestRetry;
  readonly #doing: string;
  #table: Promise<readonly KeyField[]> | undefined;
  #isClosed = false;

  constructor(link: DynamodbLink, config: DynamodbSinkConfig, context: SinkContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#retry = tableRetry(config.retry, context);
    this.#doing = `the table \`${config.table_name}\` cannot be written`;
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    const records = page.records();
    const key = await this.#key();
    const isConditional = this.#config.condition_expression !== undefined;
    const plan = isConditional ? plannedRecords : plannedPage;
    const { changes, rejected } = plan(records, this.#spec(key), key);
    // Before the first is sent: a page that fails for a record of its own leaves nothing behind.
    if (!partial) settle(records.length, rejected, false);
    const outcome: Outcome = { rejected: [...rejected], skipped: 0 };
    if (isConditional) await this.#writeOneByOne(changes, key, outcome);
    else await this.#writeBatches(changes, key, outcome);
    outcome.rejected.sort((a, b) => a.index - b.index);
    const { written } = settle(records.length, outcome.rejected, partial);
    const { skipped } = outcome;
    return {
      written: written - skipped,
      rejected: outcome.rejected,
      ...(skipped === 0 ? {} : { skipped }),
    };
  }

  /** What was taken is safe. */
  async flush(): Promise<void> {}

  async finish(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  /** Asked for once; a failure is asked for again by the next page. */
  async #key(): Promise<readonly KeyField[]> {
    const { table_name: table } = this.#config;
    const run = runRequests(this.#context, this.#retry);
    this.#table ??= run(this.#doing, this.#context.signal, () => tableKey(this.#link, table));
    try {
      const key = await this.#table;
      const fault = keyFault(this.#config, key);
      if (fault === undefined) return key;
      throw new ConnectorError('refused', fault, { hint: 'name the fields of that key in `key`' });
    } catch (error) {
      this.#table = undefined;
      throw error;
    }
  }

  /** An added record takes the place of one with its key, as the service has it. */
  #spec(key: readonly KeyField[]): KeyedSpec {
    const spec = keyedSpec(this.#config, 'value');
    if (spec !== undefined && this.#context.role !== 'dlq') return { ...spec, replaces: true };
    const names = key.map(({ name }) => name);
    return { mode: 'upsert', key: names, sameKey: 'value', replaces: true };
  }

  async #writeBatches(
    changes: readonly Change[],
    key: readonly KeyField[],
    outcome: Outcome,
  ): Promise<void> {
    const { batch_size: count, concurrency } = this.#config;
    const batches = inBatches(changes, { count, bytes: MOST_REQUEST_BYTES }, ({ bytes }) => bytes);
    await atOnce(batches, concurrency, async (batch) => {
      try {
        await this.#sendAll(batch, (some) => this.#sendBatch(some, key));
      } catch (error) {
        // It refuses all for one: each by itself shows which.
        if (!isRefusal(error)) throw error;
        for (const change of batch) await this.#writeOne(change, outcome);
      }
    });
  }

  /** Those of one key behind each other. */
  async #writeOneByOne(
    changes: readonly Change[],
    key: readonly KeyField[],
    outcome: Outcome,
  ): Promise<void> {
    const byKey = Map.groupBy(changes, (change) => keyText(change.key, key));
    await atOnce(byKey.values(), this.#config.concurrency, async (some) => {
      for (const change of some) await this.#writeOne(change, outcome);
    });
  }

  #sendAll(
    batch: readonly Change[],
    send: (some: readonly Change[]) => Promise<Left<Change>>,
  ): Promise<void> {
    return sendAll(batch, send, {
      context: this.#context,
      retry: this.#retry,
      doing: this.#doing,
    });
  }

  /** Gives those that the table had no room for. */
  async #sendBatch(changes: readonly Change[], key: readonly KeyField[]): Promise<Left<Change>> {
    const { table_name: table } = this.#config;
    const { UnprocessedItems: all = {} } = await this.#link.ask(this.#doing, (client, options) =>
      client.batchWriteItem({ RequestItems: { [table]: changes.map(requestOf) } }, options),
    );
    const left = new Set(
      Object.values(all)
        .flat()
        .map(({ PutRequest: put, DeleteRequest: gone }) =>
          keyText(put?.Item ?? gone?.Key ?? {}, key),
        ),
    );
    const found = changes.filter((change) => left.has(keyText(change.key, key)));
    // A key that came back in another spelling: whole items can all be written again.
    return {
      records: found.length < left.size ? changes : found,
      why: 'the table has no capacity for them',
    };
  }

  async #writeOne(change: Change, outcome: Outcome): Promise<void> {
    try {
      await this.#sendAll([change], async () => {
        await this.#link.ask(this.#doing, (client, options) => {
          const common = { TableName: this.#config.table_name, ...this.#condition() };
          return change.item === undefined
            ? client.deleteItem({ ...common, Key: change.key }, options)
            : client.putItem({ ...common, Item: change.item }, options);
        });
        return { records: [], why: '' };
      });
    } catch (error) {
      if (awsErrorName(error) === 'ConditionalCheckFailedException') {
        if (this.#config.on_condition_failure === 'skip') outcome.skipped += 1;
        else outcome.rejected.push(rejection(change, 'the condition does not hold'));
      } else if (isRefusal(error))
        outcome.rejected.push(
          rejection(change, excerptOf((error as Error).message, this.#context.env.redactor)),
        );
      else throw error;
    }
  }

  #condition() {
    const {
      condition_expression: condition,
      expression_attribute_names: names,
      expression_attribute_values: values,
    } = this.#config;
    if (condition === undefined) return {};
    return {
      ConditionExpression: condition,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values === undefined ? undefined : expressionValues(values),
    };
  }
}

/** Of what was sent, not of who sent it. */
function isRefusal(error: unknown): boolean {
  return error instanceof ConnectorError && awsErrorName(error) === 'ValidationException';
}

function rejection({ index }: Change, why: string): Rejection {
  return { index, error: new RecordError('Sink', why) };
}
