/**
 * What a row and the threads that work on its pages say to each other (structured clone; memory is
 * handed over, not copied).
 */
import type { ColumnBatch } from '../../kit/column-batch.ts';
import type { FileAccess } from '../../lib/access.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Measurements } from '../../lib/metrics/metric-relay.ts';
import type { Governance } from '../stages/governance.ts';
import type { StageContext } from '../stages/stage.ts';
import type { WorkedPage } from '../stages/page-work.ts';
import type { FailureMessage } from './failure-message.ts';

/** What a thread is started with. */
export interface ThreadSetup extends Omit<StageContext, 'env'> {
  /** With the config of the document, run-time tokens filled in. */
  readonly transforms: readonly {
    readonly type: string;
    readonly config: JsonObject;
    readonly path: string;
  }[];
  readonly governance: Omit<Governance, 'schema'>;
  /** Whether the sink takes lines of JSON: they are made by the thread, too. */
  readonly asLines: boolean;
  /** Whether records may become dead letters, which tell what they were made of. */
  readonly tracks: boolean;
  /** Which files its transforms may open, as in the process that starts it. */
  readonly files: FileAccess | undefined;
}

export type ToThread = PagesRequest | { readonly type: 'exit' };

/** Pages to work on; a thread answers in the order in which it is asked. */
export interface PagesRequest {
  readonly type: 'pages';
  readonly pages: readonly ThreadPage[];
}

export interface ThreadPage {
  readonly columns: ColumnBatch;
  /** In which order lines have the fields, where records do not tell it. */
  readonly order: RecordSchema | undefined;
}

/** `ready` is said once, when the thread can take pages. */
export type FromThread =
  | { readonly type: 'ready' }
  | { readonly type: 'pages'; readonly answers: readonly PageAnswer[] };

export interface PageAnswer extends Omit<
  WorkedPage,
  'page' | 'failure' | 'measure' | 'recordAsRead'
> {
  readonly content: PageContent;
  /** The payloads of the dead records, where a structured clone would lose something. */
  readonly payloads?: string;
  readonly measured: Measurements;
  readonly failure?: FailureMessage;
  /** Memory that came with the page and does not hold the answer. */
  readonly spare?: ArrayBuffer;
}

export type PageContent =
  | { readonly form: 'lines'; readonly lines: Uint8Array<ArrayBuffer>; readonly count: number }
  | { readonly form: 'columns'; readonly columns: ColumnBatch }
  | { readonly form: 'records'; readonly records: readonly JsonValue[] }
  /** Records of which a structured clone would lose something. */
  | { readonly form: 'packed'; readonly text: string };
