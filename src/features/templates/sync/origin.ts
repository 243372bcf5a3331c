/** A place outside of the server that templates come from, and go back to. */
import type { TemplateText } from '../documents/read.ts';
import type { OriginSettings } from './origins-file.ts';

export interface OriginFile {
  /** Its path below the origin, with slashes. */
  readonly name: string;
  readonly text: TemplateText;
  /** What the file beside it says (`orders.svc.yaml` for `orders.yaml`); undefined: there is none. */
  readonly sidecar: string | undefined;
}

/** One that is no template for now, and why. */
export interface UnreadFile {
  readonly name: string;
  readonly fault: string;
}

export interface Origin {
  readonly settings: OriginSettings;
  /** All its files, in the order of their names. Rejects with what went wrong. */
  pull(signal: AbortSignal): Promise<readonly (OriginFile | UnreadFile)[]>;
  /** Writes files, all of them or none, and says where they are now. */
  publish(files: readonly WrittenTemplate[], about: Publication): Promise<string>;
}

export interface WrittenTemplate {
  readonly name: string;
  readonly content: string;
}

export interface Publication {
  /** One line: what is published. */
  readonly message: string;
  readonly author: string;
  readonly signal: AbortSignal;
}
