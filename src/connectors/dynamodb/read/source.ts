import type { AttributeValue, DynamoDB, QueryInput, ScanInput } from '@aws-sdk/client-dynamodb';
import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import { isNumberInShare } from '../../../kit/share.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import type { CallOptions } from '../../_aws/link.ts';
import { withParentValues } from '../../_documents/parent-values.ts';
import { cutPages, type Sized } from '../../_files/lines/cut-pages.ts';
import { runRequests } from '../../_http/run-requests.ts';
import { expressionValues, itemSize, recordOf, type Item } from '../attributes.ts';
import type { DynamodbSourceConfig } from '../config.ts';
import { tableRetry, type DynamodbLink } from '../link.ts';

interface Answer {
  readonly Items?: Item[] | undefined;
  readonly LastEvaluatedKey?: Item | undefined;
}

export class DynamodbSource implements Source {
  readonly #link: DynamodbLink;
  readonly #config: DynamodbSourceConfig;
  readonly #context: SourceContext;
  readonly #run: ReturnType<typeof runRequests>;

  constructor(link: DynamodbLink, config: DynamodbSourceConfig, context: SourceContext) {
    this.#link = link;
    this.#config = config;
    this.#context = context;
    this.#run = runRequests(context, tableRetry(config.retry, context));
  }

  pages({ lane, limit }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: size, mode } = this.#config;
    const { pageBytes, signal } = this.#context;
    signal.throwIfAborted();
    const items = mode === 'query' ? this.#queried() : this.#scanned();
    const options = { lane, bounds: pageBounds(size, pageBytes), limit, signal };
    return cutPages(items, options);
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  async *#queried(): AsyncGenerator<readonly Sized[]> {
    const request: QueryInput = {
      ...this.#request(),
      KeyConditionExpression: this.#config.key_condition_expression,
      ScanIndexForward: this.#config.scan_index_forward,
    };
    let from: Item | undefined;
    do {
      const ExclusiveStartKey = from;
      const answer = await this.#ask((client, options) =>
        client.query({ ...request, ExclusiveStartKey }, options),
      );
      yield recordsIn(answer);
      from = answer.LastEvaluatedKey;
    } while (from !== undefined);
  }

  /** Each segment is one request ahead of what was taken of it, and of no more segments than may be. */
  async *#scanned(): AsyncGenerator<readonly Sized[]> {
    const { segments: count, max_concurrency: most } = this.#config;
    const { share } = this.#context;
    const segments = Array.from({ length: count }, (_, segment) => segment).values();
    const own = segments.filter((segment) => isNumberInShare(segment, share));
    const running = new Map<number, Promise<readonly [number, Answer]>>();
    const start = (segment: number, from: Item | undefined): void => {
      const asked = this.#scan(segment, from).then((answer) => [segment, answer] as const);
      asked.catch(() => {});
      running.set(segment, asked);
    };
    const startNext = (): void => {
      const { value, done } = own.next();
      if (done !== true) start(value, undefined);
    };
    for (let at = 0; at < most; at += 1) startNext();
    while (running.size > 0) {
      const [segment, answer] = await Promise.race(running.values());
      running.delete(segment);
      if (answer.LastEvaluatedKey !== undefined) start(segment, answer.LastEvaluatedKey);
      else startNext();
      yield recordsIn(answer);
    }
  }

  #scan(segment: number, from: Item | undefined): Promise<Answer> {
    const { segments } = this.#config;
    const request: ScanInput = {
      ...this.#request(),
      ...(segments === 1 ? {} : { Segment: segment, TotalSegments: segments }),
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    };
    return this.#ask((client, options) => client.scan(request, options));
  }

  #request() {
    const config = this.#config;
    const { projection, expression_attribute_values: values } = config;
    const filled =
      values === undefined ? undefined : withParentValues(values, this.#context.parent);
    return {
      TableName: config.table_name,
      IndexName: config.index_name,
      FilterExpression: config.filter_expression,
      ProjectionExpression: Array.isArray(projection) ? projection.join(', ') : projection,
      ExpressionAttributeNames: config.expression_attribute_names,
      ExpressionAttributeValues: filled === undefined ? undefined : expressionValues(filled),
      ConsistentRead: config.consistent_read,
      Limit: config.page_limit,
    };
  }

  #ask(send: (client: DynamoDB, options: CallOptions) => Promise<Answer>): Promise<Answer> {
    const doing = `the table \`${this.#config.table_name}\` cannot be read`;
    return this.#run(doing, this.#context.signal, () => this.#link.ask(doing, send));
  }
}

function recordsIn({ Items: items = [] }: Answer): readonly Sized[] {
  return items.map((item: Record<string, AttributeValue>) => ({
    value: recordOf(item),
    size: itemSize(item),
  }));
}
