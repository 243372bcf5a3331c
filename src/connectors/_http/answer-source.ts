/** Sources that are asked again and again until an answer is the last one. */
import type { SourceContext } from '../../kit/context.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { Source } from '../../kit/source.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { cutPages, unsized } from '../_files/lines/cut-pages.ts';
import type { Connections } from './connections.ts';

export interface AnswerSourceOptions {
  /** The records of each answer, in order. */
  readonly answers: () => AsyncIterable<readonly JsonValue[]>;
  readonly connections: Connections;
  readonly context: SourceContext;
  /** 0: no bound but that of the bytes of a page. */
  readonly batchSize: number;
}

export function answerSource(options: AnswerSourceOptions): Source {
  const { answers, connections, context, batchSize } = options;
  const bounds = pageBounds(batchSize === 0 ? Infinity : batchSize, context.pageBytes);
  return {
    pages: ({ lane, limit }) =>
      cutPages(unsized(answers()), { lane, bounds, limit, signal: context.signal }),
    close: () => connections.close().catch(() => {}),
  };
}
