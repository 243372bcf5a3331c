/**
 * One document from several files: `extends`, `!include` and `profiles` (spec 2.4). Happens before
 * any token is filled in.
 */
import { dirname, isAbsolute, join, relative } from 'node:path';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import {
  extensionFault,
  formatOf,
  readFileText,
  NAMED_PATH_HINT,
  type FileFault,
  type ReadFile,
} from '../text/file-text.ts';
import {
  graft,
  heightOf,
  layerAt,
  mergeLayers,
  type Graft,
  type Layer,
  type Part,
} from './layer.ts';
import {
  MAX_COMPOSED_FILES,
  MAX_COMPOSITION_DEPTH,
  MAX_DEPTH,
  MAX_DOCUMENT_BYTES,
} from '../text/limits.ts';
import { withPlaces, type Locate } from '../text/locate.ts';
import { NO_MAPPING, parseFragment, type Format, type ParsedFragment } from '../parse/parse.ts';

export interface ComposeOptions {
  readonly readFile: ReadFile;
  /** One name for a file, however it is reached. */
  readonly canonicalPath: (path: string) => string;
  /** The overlay to apply; it must be declared. */
  readonly profile?: string;
}

export interface Composed {
  readonly tree: JsonObject;
  readonly locate: Locate;
  /** False when the text stood for itself. */
  readonly changed: boolean;
}

export interface DocumentText {
  readonly path: string;
  readonly format: Format;
  readonly text: string;
}

/** Throws `ConfigError` (stage `parse`) with every issue, each in its file. */
export function composeDocument(file: DocumentText, options: ComposeOptions): Composed {
  const composer = new Composer(file, options);
  const whole = composer.whole();
  if (composer.issues.length > 0)
    throw new ConfigError(withPlaces(unique(composer.issues), whole.locate), { stage: 'parse' });
  return { tree: whole.value, locate: whole.locate, changed: composer.changed };
}

/** A file that is named twice has its faults once. */
function unique(issues: readonly Issue[]): Issue[] {
  return [...new Map(issues.map((issue) => [JSON.stringify(issue), issue])).values()];
}

/** Where one file names another. */
interface Reference {
  readonly from: string;
  readonly target: string;
  readonly at: Pick<Issue, 'path' | 'line' | 'column' | 'file'>;
}

interface Active {
  readonly path: string;
  canonical: string | undefined;
}

class Composer {
  readonly issues: Issue[] = [];
  changed = false;
  readonly #root: DocumentText;
  readonly #options: ComposeOptions;
  /** The files being read, each named by the one before it. */
  readonly #active: Active[];
  #filesLeft = MAX_COMPOSED_FILES;
  #bytesLeft: number;

  constructor(root: DocumentText, options: ComposeOptions) {
    this.#root = root;
    this.#options = options;
    this.#active = [{ canonical: undefined, path: root.path }];
    this.#bytesLeft = MAX_DOCUMENT_BYTES - root.text.length;
  }

  whole(): Layer {
    const layer = this.#document(this.#root);
    const profiles = this.#profiles(layer);
    const { profiles: _profiles, ...value } = layer.value;
    const plain = { value, locate: layer.locate };
    const name = this.#options.profile;
    if (name === undefined || profiles === undefined) return plain;
    const overlay = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    if (overlay !== undefined)
      return isObject(overlay)
        ? mergeLayers(plain, layerAt(layer, ['profiles', name], overlay))
        : plain;
    // It may be declared in what could not be read.
    if (this.issues.length > 0) return plain;
    const hint =
      suggestion(name, Object.keys(profiles), 'there are') ?? 'the document declares none';
    this.issues.push({
      code: 'unknown_profile',
      path: 'profiles',
      message: `there is no profile \`${name}\``,
      hint,
    });
    return plain;
  }

  /** The declared overlays; `undefined` when they cannot be read. */
  #profiles(layer: Layer): JsonObject | undefined {
    const { profiles } = layer.value;
    if (profiles === undefined || profiles === null) return {};
    this.changed = true;
    if (!isObject(profiles)) {
      this.issues.push({
        code: 'wrong_type',
        path: 'profiles',
        message: '`profiles` maps names to overlays',
        ...layer.locate('profiles'),
      });
      return undefined;
    }
    for (const [name, overlay] of Object.entries(profiles))
      this.#checkOverlay(layer, name, overlay);
    return profiles;
  }

  #checkOverlay(layer: Layer, name: string, overlay: JsonValue): void {
    if (overlay === null) return;
    const path = joinPath('profiles', name);
    if (!isObject(overlay)) {
      const message = `the profile \`${name}\` must be a mapping, shaped like the document`;
      this.issues.push({ code: 'wrong_type', path, message, ...layer.locate(path) });
      return;
    }
    for (const key of ['extends', 'profiles']) {
      if (!Object.hasOwn(overlay, key)) continue;
      const at = joinPath(path, key);
      const message = `a profile cannot have \`${key}\``;
      this.issues.push({
        code: 'unknown_key',
        path: at,
        message,
        hint: 'it belongs at the top of a file',
        ...layer.locate(at),
      });
    }
  }

  /** A file whose own bases lie beneath it already. Its `profiles` are still in it. */
  #document(file: DocumentText): Layer {
    const { value: root, locate } = this.#fragment(file);
    if (!isObject(root)) {
      if (!this.#hasFailed(file))
        this.issues.push({ ...NO_MAPPING, file: file.path, line: 1, column: 1 });
      return { value: {}, locate };
    }
    const { extends: bases, ...value } = root;
    if (bases === undefined || bases === null) return { value, locate };
    this.changed = true;
    const layers = this.#bases(bases, { file, locate });
    return [...layers, { value, locate }].reduce(mergeLayers);
  }

  #hasFailed({ path }: DocumentText): boolean {
    return this.issues.some((issue) => issue.file === path);
  }

  #bases(bases: JsonValue, { file, locate }: { file: DocumentText; locate: Locate }): Layer[] {
    const list = Array.isArray(bases) ? bases : [bases];
    return list.flatMap((target, index) => {
      const path = joinPath('extends', ...(Array.isArray(bases) ? [index] : []));
      const at = { path, ...locate(path) };
      if (typeof target === 'string' && target !== '') {
        return (
          this.#enter({ from: at.file ?? file.path, target, at }, (base) => this.#document(base)) ??
          []
        );
      }
      this.issues.push({
        code: 'wrong_type',
        message: '`extends` takes the path of a file, or a list of paths',
        ...at,
      });
      return [];
    });
  }

  /** A file of any shape, with the files that it includes. */
  #fragment(file: DocumentText): Part {
    const parsed = this.#parse(file);
    if (parsed === undefined) return { value: null, locate: () => undefined };
    const grafts = parsed.includes.flatMap(({ steps, target }): Graft[] => {
      const path = joinPath('', ...steps);
      const at = { path, ...parsed.locate(path) };
      const content = this.#enter({ from: file.path, target, at }, (included) =>
        this.#fragment(included),
      );
      if (content === undefined) return [];
      if (steps.length + heightOf(content.value) <= MAX_DEPTH) return [{ steps, content }];
      this.issues.push({
        code: 'too_deep',
        message: `with \`${target}\` the document is nested deeper than ${MAX_DEPTH} levels`,
        ...at,
      });
      return [];
    });
    if (parsed.includes.length > 0) this.changed = true;
    return graft(parsed, grafts);
  }

  #parse({ path, format, text }: DocumentText): ParsedFragment | undefined {
    try {
      return parseFragment(text, format, { kind: 'file', path });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.issues.push(...error.issues);
      return undefined;
    }
  }

  /**
   * Goes into a file that another one names; `undefined`, with an issue at the reference, when that
   * is not possible.
   */
  #enter<T>(reference: Reference, read: (file: DocumentText) => T): T | undefined {
    const { from, target, at } = reference;
    const path = isAbsolute(target) ? target : join(dirname(from), target);
    const format = formatOf(path);
    if (format === undefined) return this.#refuse(reference, extensionFault(path));
    const canonical = this.#options.canonicalPath(path);
    const loop = this.#active.findIndex(
      (active) => (active.canonical ??= this.#options.canonicalPath(active.path)) === canonical,
    );
    if (loop !== -1) {
      const chain = [...this.#active.slice(loop), { path }]
        .map((active) => this.#shown(active.path))
        .join(' → ');
      this.issues.push({
        code: 'composition_cycle',
        message: `files name each other in a circle: ${chain}`,
        ...at,
      });
      return undefined;
    }
    if (this.#active.length > MAX_COMPOSITION_DEPTH) {
      const message = `files name each other over more than ${MAX_COMPOSITION_DEPTH} levels`;
      this.issues.push({ code: 'too_deep', message, hint: 'name the last ones directly', ...at });
      return undefined;
    }
    const file = this.#read(reference, path, format);
    if (file === undefined) return undefined;
    this.#active.push({ canonical, path });
    const result = read(file);
    this.#active.pop();
    return result;
  }

  #read(reference: Reference, path: string, format: Format): DocumentText | undefined {
    // Exceeded limits are reported once, where they are exceeded.
    if (this.#filesLeft < 0 || this.#bytesLeft < 0) return undefined;
    this.#filesLeft -= 1;
    if (this.#filesLeft < 0) {
      return this.#refuse(reference, {
        code: 'too_large',
        message: `the document names more than ${MAX_COMPOSED_FILES} files`,
      });
    }
    const read = readFileText(path, this.#options.readFile);
    if (!read.ok) return this.#refuse(reference, read.fault);
    this.#bytesLeft -= read.bytes;
    if (this.#bytesLeft >= 0) return { path, format, text: read.text };
    const message = `with it the document is larger than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MB`;
    return this.#refuse(reference, { code: 'too_large', message });
  }

  #refuse({ target, at }: Reference, { code, message, hint }: FileFault): undefined {
    const advice = target.includes('${')
      ? 'tokens are filled in after composition: a path cannot hold any'
      : code === 'file_unreadable'
        ? NAMED_PATH_HINT
        : hint;
    this.issues.push({
      code,
      message: `\`${target}\`: ${message}`,
      ...at,
      ...(advice === undefined ? {} : { hint: advice }),
    });
    return undefined;
  }

  /** Short, and relative to the folder of the document. */
  #shown(path: string): string {
    return relative(dirname(this.#root.path), path);
  }
}
