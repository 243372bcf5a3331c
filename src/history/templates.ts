/** Stored templates, as plain data. */
import type { JsonObject } from '../lib/text/json.ts';

/** One registered version; never changed. */
export interface TemplateVersion {
  readonly id: string;
  /** From 1. */
  readonly version: number;
  readonly kind: string;
  readonly name: string | null;
  readonly description: string | null;
  /** The document as it was sent. */
  readonly body: string;
  readonly format: 'yaml' | 'json';
  /** The declared parameters by name, as lists show them. */
  readonly params: JsonObject;
  /** Whether the document has a schedule. */
  readonly is_scheduled: boolean;
  readonly created_at: string;
  readonly created_by: string | null;
}

/** A version without its document. */
export type TemplateListing = Omit<TemplateVersion, 'body'>;

export interface Launch {
  /** From 1. */
  readonly seq: number;
  readonly version: number;
  readonly launched_at: string;
  readonly launched_by?: string;
}

export interface Deprecation {
  readonly deprecated_at: string;
  readonly deprecated_by?: string;
  readonly reason?: string;
}

export interface VersionDeprecation extends Deprecation {
  readonly version: number;
}

/** Which versions a template has, and what they are used for. */
export interface TemplateState {
  readonly id: string;
  readonly kind: string;
  /** Counts changes; the store refuses a change of an older revision. */
  readonly revision: number;
  /** Newest first. */
  readonly versions: readonly number[];
  /** A number is given once, also when its version was deleted. */
  readonly next_version: number;
  /** Version by assignable channel. */
  readonly tags: Readonly<Record<string, number>>;
  /** Newest first. */
  readonly launches: readonly Launch[];
  readonly deprecation?: Deprecation;
  readonly deprecated_versions: readonly VersionDeprecation[];
  /** When its newest version was registered. */
  readonly registered_at: string;
}

export interface TemplateChange {
  /** The template as it was read; undefined when there was none. */
  readonly before: TemplateState | undefined;
  /** Undefined deletes it with all its versions. Versions that it does not list are deleted. */
  readonly after: TemplateState | undefined;
  /** A version that is new. */
  readonly version?: TemplateVersion;
}

export interface TemplateQuery {
  readonly kind?: string;
  /** All when absent. */
  readonly limit?: number;
  /** Goes on behind this template; from the start when there is none of this id. */
  readonly after?: string;
}

export interface ChosenVersion {
  readonly state: TemplateState;
  /** Undefined when the template has no such version. */
  readonly version: TemplateVersion | undefined;
}

export interface TemplateStore {
  getTemplate(id: string): Promise<TemplateState | undefined>;
  getTemplateVersion(id: string, version: number): Promise<TemplateVersion | undefined>;
  /**
   * One version of a template as everybody sees it now, before the disk has it: for what becomes
   * part of a write, which the disk has later. `choose` gives its number; what it throws, this
   * rejects with. Undefined when there is no such template.
   */
  chooseVersion(
    id: string,
    choose: (state: TemplateState) => number,
  ): Promise<ChosenVersion | undefined>;
  /** With the newest version of each; the newest registration first, then by id. */
  listTemplates(
    query?: TemplateQuery,
  ): Promise<readonly { readonly state: TemplateState; readonly newest: TemplateListing }[]>;
  /** The versions that have a schedule, by template and version. */
  listScheduled(): Promise<readonly { readonly id: string; readonly version: number }[]>;
  /** False, with nothing changed, when the template is not as `before` says any more. */
  changeTemplate(change: TemplateChange): Promise<boolean>;
}
