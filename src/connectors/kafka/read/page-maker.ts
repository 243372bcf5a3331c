/** Collects messages into pages: as records, or as lines of JSON where those are asked for. */
import { messageLines } from '../../../fast/fast-paths.ts';
import { MessageLines, type KeyForm } from '../../../fast/json/message-lines.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { Page, type Lane, type PageOptions } from '../../../kit/page.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { KafkaSourceConfig } from '../config.ts';
import type { LogMessage } from './log-reader.ts';

export interface PageMaker {
  readonly count: number;
  /** Whether a message can be added without a record. */
  passes(message: LogMessage): boolean;
  /** The record is that of the message; `undefined` where it passes. */
  add(message: LogMessage, record: JsonObject | undefined): void;
  /** The page so far; starts the next one. */
  take(options: PageOptions & { readonly bytes: number }): Page;
}

export function pageMakerOf(lane: Lane, config: Formats): PageMaker {
  const keys = keyFormOf(config);
  const isFast = messageLines.isOn() && lane.form === 'bytes' && keys !== undefined;
  return isFast ? makeLines(new MessageLines(keys)) : makeRecords();
}

export type Formats = Pick<KafkaSourceConfig, 'value_format' | 'key_format'>;

/** `undefined` where messages hold something else than text and JSON. */
export function keyFormOf({ value_format: value, key_format: key }: Formats): KeyForm | undefined {
  if (value.type !== 'json') return undefined;
  if (key === undefined || key.type === 'raw_string') return 'text';
  return key.type === 'json' ? 'json' : undefined;
}

function makeRecords(): PageMaker {
  let records: JsonObject[] = [];
  return {
    get count() {
      return records.length;
    },
    passes: () => false,
    add: (_message, record) => void records.push(record as JsonObject),
    take(options) {
      const page = Page.ofRecords(records, options);
      records = [];
      return page;
    },
  };
}

function makeLines(lines: MessageLines): PageMaker {
  let count = 0;
  return {
    get count() {
      return count;
    },
    passes: (message) => lines.passes(message),
    add(message, record) {
      if (record === undefined) lines.pass(message);
      else lines.addRecord(record);
      count += 1;
    },
    take(options) {
      const { block, release } = lines.take();
      const page = Page.ofBlock(JSON_LINES, block, count, { ...options, release });
      count = 0;
      return page;
    },
  };
}
