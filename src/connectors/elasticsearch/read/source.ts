import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { withParentValues } from '../../_documents/parent-values.ts';
import { cutPages, unsized } from '../../_files/lines/cut-pages.ts';
import { fillText, valuesOf } from '../../_http/placeholders.ts';
import type { ElasticsearchSourceConfig } from '../config.ts';
import { Link, step } from '../link.ts';
import { complete, hitsOf, NOTHING_LESS } from './answers.ts';

/** The server gives no more at a time. */
const MOST = 10_000;

export async function openElasticsearchSource(
  config: ElasticsearchSourceConfig,
  context: SourceContext,
): Promise<Source> {
  return new ElasticsearchSource(config, context, await Link.open(config, context));
}

class ElasticsearchSource implements Source {
  readonly #config: ElasticsearchSourceConfig;
  readonly #context: SourceContext;
  readonly #link: Link;
  readonly #index: string;

  constructor(config: ElasticsearchSourceConfig, context: SourceContext, link: Link) {
    this.#config = config;
    this.#context = context;
    this.#link = link;
    this.#index = fillText(config.index, valuesOf(context.parent));
  }

  pages({ lane, limit }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: size } = this.#config;
    const { pageBytes, signal } = this.#context;
    const bounds = pageBounds(size === 0 ? Infinity : size, pageBytes);
    const answers =
      size === 0 ? this.#wholeAnswer() : this.#scrolled(Math.min(limit ?? MOST, MOST));
    return cutPages(unsized(answers), { lane, bounds, limit, signal });
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  async *#wholeAnswer(): AsyncGenerator<readonly JsonValue[]> {
    const answer = await this.#search({ size: MOST, track_total_hits: true }, []);
    const records = recordsIn(answer);
    const total = totalOf(answer);
    if (total > records.length)
      throw new ConnectorError(
        'data',
        `\`${this.#index}\` has ${total} documents, and one page holds ${MOST} at most`,
        { hint: 'set a `batch_size` above 0' },
      );
    yield records;
  }

  /** The place that the server keeps is given back whatever happens. */
  async *#scrolled(most: number): AsyncGenerator<readonly JsonValue[]> {
    const { batch_size: batch, scroll_timeout: keep, max_pages: pages = Infinity } = this.#config;
    const size = Math.max(1, Math.min(batch, most));
    let place: string | undefined;
    try {
      let answer = await this.#search({ size, sort: ['_doc'] }, [['scroll', keep]]);
      for (let page = 1; ; page += 1) {
        place = placeOf(answer) ?? place;
        const records = recordsIn(answer);
        if (records.length === 0) return;
        yield records;
        if (place === undefined) return;
        if (page >= pages) {
          this.#context.env.log.warn('`max_pages` ended the reading before the last page', {
            pages,
          });
          return;
        }
        answer = await this.#next(place, keep);
      }
    } finally {
      if (place !== undefined) await this.#giveBack(place);
    }
  }

  async #search(
    body: JsonObject,
    query: readonly (readonly [string, string])[],
  ): Promise<JsonObject> {
    const { query: wanted } = this.#config;
    const filled =
      wanted === undefined
        ? { match_all: {} }
        : withParentValues(wanted as JsonObject, this.#context.parent);
    const path = `${step(this.#index)}/_search`;
    return complete(
      await this.#link.ask({
        method: 'POST',
        path,
        query: [...query, NOTHING_LESS],
        json: { ...body, query: filled },
      }),
    );
  }

  async #next(place: string, keep: string): Promise<JsonObject> {
    try {
      return complete(
        await this.#link.ask({
          method: 'POST',
          path: '_search/scroll',
          json: { scroll: keep, scroll_id: place },
          isRepeatable: false,
        }),
      );
    } catch (error) {
      if (!(error instanceof ConnectorError) || error.status !== 404) throw error;
      throw new ConnectorError(
        'refused',
        `the server has given up its place in \`${this.#index}\``,
        {
          cause: error,
          hint: 'raise `scroll_timeout`, or lower `batch_size`',
        },
      );
    }
  }

  async #giveBack(place: string): Promise<void> {
    try {
      const json = { scroll_id: [place] };
      await this.#link.ask({ method: 'DELETE', path: '_search/scroll', json, isRepeatable: false });
    } catch {
      // It ends by itself after `scroll_timeout`.
    }
  }
}

function placeOf(answer: JsonObject): string | undefined {
  const { _scroll_id: place } = answer;
  return typeof place === 'string' ? place : undefined;
}

function recordsIn(answer: JsonObject): JsonValue[] {
  return hitsOf(answer).map(({ _source: document, _index: index = null }) => {
    if (document !== undefined) return document;
    const what = `the index \`${jsonText(index)}\` does not keep its documents (\`_source\`)`;
    throw new ConnectorError('data', what, {
      hint: 'turn `_source` on in its mapping, and load it anew',
    });
  });
}

function totalOf(answer: JsonObject): number {
  const outer = answer['hits'] ?? null;
  const total = isObject(outer) ? (outer['total'] ?? null) : null;
  return Number(isObject(total) ? total['value'] : (total ?? 0));
}
