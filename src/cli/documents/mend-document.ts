/** Finds what keeps the records of a document from going on, and a change of the document for it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { editedText, stepsOf, type Edit } from '../../features/fix/edit-document.ts';
import { lenientTree } from '../../features/fix/lenient.ts';
import { isBetter, look, type Look } from '../../features/fix/look.ts';
import {
  asideProposal,
  commaProposal,
  formatProposal,
  nameProposal,
  nullProposal,
  type Proposal,
  type Suggested,
} from '../../features/fix/propose.ts';
import { delimitedFindings } from '../../features/init/delimited-draft.ts';
import { sampleOfFile } from '../../features/init/read-sample.ts';
import { configFile } from '../framework/config-file.ts';
import type { CliContext } from '../framework/context.ts';
import type { DOCUMENT_OPTIONS } from './document-options.ts';
import type { Values } from '../framework/option.ts';
import { loadPlan } from './load-plan.ts';

export interface MendRequest {
  readonly config: string | undefined;
  readonly completion: Values<typeof DOCUMENT_OPTIONS>;
  /** Only these rows; all that run by themselves when empty. */
  readonly rows: readonly string[];
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface MendedRow {
  readonly row: string;
  readonly before: Look;
  readonly after: Look;
}

export interface Mending {
  /** Absolute. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly reasons: readonly string[];
  readonly rows: readonly MendedRow[];
  /** Records that cannot go on are put aside by the changed document. */
  readonly putsAside: boolean;
  /** Changes that belong to another file, which this one includes or extends. */
  readonly elsewhere: readonly string[];
}

interface Draft {
  readonly text: string;
  readonly reasons: readonly string[];
}

/** Throws `ConfigError` when the document cannot be used, and no name in it is nearly right. */
export async function mendDocument(context: CliContext, request: MendRequest): Promise<Mending> {
  const file = path.resolve(context.world.cwd, configFile(context, request.config));
  const before = await readFile(file, 'utf8');
  const mender = new Mender(context, request, file);
  let draft = await mender.withRightNames({ text: before, reasons: [] });
  const rows: MendedRow[] = [];
  let putsAside = false;
  for (const { id } of await mender.rows(draft.text)) {
    const first = await mender.look(draft.text, id);
    let now = first;
    for (const propose of PROPOSALS) {
      const proposal = await propose(mender, draft.text, { id, now });
      const changed = proposal && mender.edited(draft.text, proposal);
      if (proposal === undefined || changed === undefined) continue;
      const then = await mender.look(changed, id).catch(() => undefined);
      if (then === undefined || !(proposal.isCertain ? goesOn(then) : isBetter(then, now)))
        continue;
      draft = { text: changed, reasons: [...draft.reasons, proposal.because] };
      now = then;
    }
    if (now.faults.length > 0) {
      const proposal = asideProposal(await mender.row(draft.text, id), now);
      const changed = proposal && mender.edited(draft.text, proposal);
      if (proposal !== undefined && changed !== undefined && (await mender.isValid(changed))) {
        draft = { text: changed, reasons: [...draft.reasons, proposal.because] };
        putsAside = true;
      }
    }
    rows.push({ row: id, before: first, after: now });
  }
  const { elsewhere } = mender;
  return { file, before, after: draft.text, reasons: draft.reasons, rows, putsAside, elsewhere };
}

/** A field that is converted now may show values that are wrong: they were so before. */
function goesOn({ fatal }: Look): boolean {
  return fatal === undefined;
}

interface Seen {
  readonly id: string;
  readonly now: Look;
}

type Propose = (mender: Mender, text: string, seen: Seen) => Promise<Proposal | undefined>;

const PROPOSALS: readonly Propose[] = [
  async (mender, text, { id, now }) => {
    // A file that can be read is read as the document says.
    if (now.faults.length === 0 && now.fatal === undefined && now.fields.length > 1)
      return undefined;
    const row = await mender.row(text, id);
    const suggested = await mender.suggested(row);
    return suggested && formatProposal(row, suggested);
  },
  async (mender, text, { id, now }) => nameProposal(await mender.row(text, id), now),
  async (mender, text, { id, now }) => commaProposal(await mender.row(text, id), now),
  async (mender, text, { id, now }) => nullProposal(await mender.row(text, id), now),
];

const MOST_NAMES = 10;

class Mender {
  readonly elsewhere: string[] = [];
  readonly #context: CliContext;
  readonly #request: MendRequest;
  readonly #file: string;

  constructor(context: CliContext, request: MendRequest, file: string) {
    this.#context = context;
    this.#request = request;
    this.#file = file;
  }

  /** Names that are nearly right, as the problems of the document say. */
  async withRightNames(draft: Draft): Promise<Draft> {
    let { text, reasons } = draft;
    for (let round = 0; round < MOST_NAMES; round += 1) {
      const error = await this.#load(text, false).then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (error === undefined) return { text, reasons };
      if (!(error instanceof ConfigError)) throw error;
      const meant = error.issues.flatMap(meantBy);
      const changed = editedText(
        text,
        meant.map(({ edit }) => edit),
        formatOf(this.#file),
      );
      if (meant.length === 0 || changed === undefined || changed === text) throw error;
      text = changed;
      reasons = [...reasons, ...meant.map(({ because }) => because)];
    }
    return { text, reasons };
  }

  async rows(text: string): Promise<readonly PlannedRow[]> {
    const { plan } = await this.#load(text, false);
    const { rows: named } = this.#request;
    return plan.rows.filter(
      ({ id, role }) => role === 'root' && (named.length === 0 || named.includes(id)),
    );
  }

  /** As the document has it. */
  async row(text: string, id: string): Promise<PlannedRow> {
    return rowOf((await this.#load(text, false)).plan, id);
  }

  async look(text: string, id: string): Promise<Look> {
    const { plan, parts } = await this.#load(text, true);
    const { env, world } = { env: this.#context.envAt('error'), world: this.#context.world };
    const { limit, signal } = this.#request;
    const clock = world.clock.now();
    return look({ plan, parts, env, row: rowOf(plan, id), clock, signal, limit });
  }

  async isValid(text: string): Promise<boolean> {
    return this.#load(text, false).then(
      () => true,
      () => false,
    );
  }

  /** The document with the change; `undefined` when its place is in another file. */
  edited(text: string, { edits, because }: Proposal): string | undefined {
    const changed = editedText(text, edits, formatOf(this.#file));
    if (changed === undefined) this.elsewhere.push(because);
    return changed;
  }

  /** What a look at the file itself says of how it is to be read. */
  async suggested({ source }: PlannedRow): Promise<readonly Suggested[] | undefined> {
    const { path: named } = source.config;
    if (source.type !== 'csv' || typeof named !== 'string' || source.deferred) return undefined;
    const place = path.resolve(this.#context.world.cwd, named);
    const sample = await sampleOfFile(place, named).catch(() => undefined);
    const found = sample && delimitedFindings(sample, { path: named, isUrl: false });
    return found?.source.settings;
  }

  async #load(text: string, isLenient: boolean): Promise<{ plan: Plan; parts: Parts }> {
    const { completion } = this.#request;
    return loadPlan(this.#context, {
      config: this.#file,
      completion,
      replaced: { file: this.#file, text },
      ...(isLenient
        ? {
            adapt: (document, parts: Parts) => ({
              ...document,
              tree: lenientTree(document.tree, parts),
            }),
          }
        : {}),
    });
  }
}

function formatOf(file: string): 'yaml' | 'json' {
  return file.toLowerCase().endsWith('.json') ? 'json' : 'yaml';
}

function rowOf({ rows }: Plan, id: string): PlannedRow {
  const row = rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`cannot happen: the row ${id} is gone`);
  return row;
}

const MEANT = /did you mean `([^`]+)`\?/;

function meantBy({ path: place, hint = '', code, message }: Issue): {
  readonly edit: Edit;
  readonly because: string;
}[] {
  const to = MEANT.exec(hint)?.[1];
  if (to === undefined || place === '') return [];
  const steps = stepsOf(place);
  const because = `${message}: \`${to}\` is meant`;
  if (code === 'unknown_key') return [{ edit: { kind: 'rename', steps, to }, because }];
  return [{ edit: { kind: 'set', steps, value: to }, because }];
}
