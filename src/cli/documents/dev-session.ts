/** Looks at some records and what each stage makes of them, as often as the document changes. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { count } from '../../lib/text/count.ts';
import { AppError, ConfigError } from '../../lib/errors.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { readRecords } from '../../document/parse/read-records.ts';
import { localFiles } from '../../document/text/local-file.ts';
import { firstRecords, type FirstRecords } from '../../engine/preview/first-records.ts';
import {
  traceStages,
  type SampleTrace,
  type StageTrace,
} from '../../engine/preview/trace-stages.ts';
import { schemaText } from '../../kit/type-text.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { CliContext } from '../framework/context.ts';
import type { DOCUMENT_OPTIONS } from './document-options.ts';
import type { Values } from '../framework/option.ts';
import { loadPlan } from './load-plan.ts';

export interface DevRequest {
  readonly config: string;
  readonly completion: Values<typeof DOCUMENT_OPTIONS>;
  readonly row: string | undefined;
  readonly sample: string | undefined;
  readonly live: boolean;
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface StageText {
  readonly title: string;
  readonly lines: readonly string[];
  readonly isError?: true;
}

export class DevSession {
  /** What the last look depended on. */
  readonly files = new Set<string>();
  readonly #context: CliContext;
  readonly #request: DevRequest;
  #read: { readonly of: string; readonly records: FirstRecords } | undefined;

  constructor(context: CliContext, request: DevRequest) {
    this.#context = context;
    this.#request = request;
  }

  /** Throws what is wrong with the document, or with its source. */
  async look(): Promise<readonly StageText[]> {
    const { config, completion, signal } = this.#request;
    const { plan, parts } = await loadPlan(this.#context, {
      config,
      completion,
      onFile: (file) => this.files.add(file),
    });
    const row = this.#rowOf(plan);
    const { records, schema } = await this.#records(plan, parts, row);
    const env = this.#context.envAt('error');
    const clock = this.#context.world.clock.now();
    return textsOf(row, await traceStages({ plan, row, records, schema, env, clock, signal }));
  }

  #rowOf({ rows, topology }: Plan): PlannedRow {
    const { row: id, sample } = this.#request;
    const all = rows.filter(({ role }) => sample !== undefined || role === 'root');
    const row = id === undefined ? all[0] : all.find((one) => one.id === id);
    if (row !== undefined && topology === undefined) return row;
    throw new AppError(
      'no_root_row',
      topology !== undefined
        ? 'a graph of nodes has no row to look at'
        : id === undefined
          ? 'no row can be read by itself'
          : `there is no row \`${id}\` that can be read by itself`,
      {
        hint:
          id === undefined
            ? 'use `plan --sample`'
            : (suggestion(
                id,
                rows.map((one) => one.id),
              ) ?? ''),
      },
    );
  }

  async #records(plan: Plan, parts: Parts, row: PlannedRow): Promise<FirstRecords> {
    const { sample, limit, live, signal } = this.#request;
    const { world } = this.#context;
    if (sample !== undefined)
      return { records: fromFile(world.cwd, sample, limit), schema: undefined };
    const of = this.#stateOf(row);
    if (!live && this.#read?.of === of) return this.#read.records;
    const env = this.#context.envAt('error');
    const clock = world.clock.now();
    const records = await firstRecords({ plan, parts, env, row, limit, clock, signal });
    this.#read = { of, records };
    return records;
  }

  /** Changes when the source has to be read again. */
  #stateOf({ id, source: { type, config, parsed, definition } }: PlannedRow): string {
    const local = parsed === undefined ? undefined : definition.localPath?.(parsed);
    const written = stringifyJson([id, type, config]);
    if (local === undefined) return written;
    const file = path.resolve(this.#context.world.cwd, local);
    this.files.add(file);
    const found = statSync(file, { throwIfNoEntry: false });
    return `${written} ${found?.mtimeMs} ${found?.size}`;
  }
}

function fromFile(cwd: string, name: string, limit: number): FirstRecords['records'] {
  const read = readRecords({ name, path: path.resolve(cwd, name), readFile: localFiles(cwd) });
  if (read.ok) return read.records.slice(0, limit);
  throw new ConfigError([{ ...read.fault, path: '', file: name }], { stage: 'parse' });
}

function textsOf(row: PlannedRow, trace: SampleTrace): StageText[] {
  const schema = trace.types[0]?.schema;
  return [
    {
      title: `${row.id}: source ${row.source.type}`,
      lines: [
        ...(schema === undefined ? [] : [`types: ${schemaText(schema)}`]),
        ...trace.input.map((record) => stringifyJson(record)),
      ],
    },
    ...trace.stages.map((stage, index) => ({
      title: `${index + 1}. ${stage.stage}`,
      lines: linesOf(stage),
    })),
    trace.error === undefined
      ? { title: `sink ${row.sink.type}`, lines: [`gets ${count(trace.output.length, 'record')}`] }
      : { title: 'the run would end here', lines: [trace.error], isError: true },
  ];
}

function linesOf({ after, dead, filtered, expanded }: StageTrace): string[] {
  return [
    ...after.map((record) => stringifyJson(record)),
    ...(filtered === 0 ? [] : [`${count(filtered, 'record')} filtered`]),
    ...(expanded === 0 ? [] : [`${count(expanded, 'record')} more`]),
    ...dead.map(({ record, message }) => `put aside: ${stringifyJson(record)}  ${message}`),
  ];
}
