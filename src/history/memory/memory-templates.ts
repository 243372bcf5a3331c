import type {
  ChosenVersion,
  TemplateChange,
  TemplateListing,
  TemplateQuery,
  TemplateState,
  TemplateStore,
  TemplateVersion,
} from '../templates.ts';

interface Entry {
  readonly state: TemplateState;
  readonly versions: ReadonlyMap<number, TemplateVersion>;
}

/** Templates that end with the process. */
export class MemoryTemplates implements TemplateStore {
  readonly #entries = new Map<string, Entry>();

  async getTemplate(id: string): Promise<TemplateState | undefined> {
    return this.#entries.get(id)?.state;
  }

  async getTemplateVersion(id: string, version: number): Promise<TemplateVersion | undefined> {
    return this.#entries.get(id)?.versions.get(version);
  }

  async chooseVersion(
    id: string,
    choose: (state: TemplateState) => number,
  ): Promise<ChosenVersion | undefined> {
    const entry = this.#entries.get(id);
    return entry && { state: entry.state, version: entry.versions.get(choose(entry.state)) };
  }

  async listTemplates({ kind, limit, after }: TemplateQuery = {}): Promise<
    readonly { readonly state: TemplateState; readonly newest: TemplateListing }[]
  > {
    const listed = [...this.#entries.values()].flatMap(({ state, versions }) => {
      const newest = versions.get(state.versions[0] ?? 0);
      if (newest === undefined) return [];
      const { body: _, ...listing } = newest;
      return [{ state, newest: listing }];
    });
    listed.sort(
      ({ state: a }, { state: b }) =>
        compare(b.registered_at, a.registered_at) || compare(a.id, b.id),
    );
    const from = after === undefined ? 0 : listed.findIndex(({ state }) => state.id === after) + 1;
    const rest = listed
      .slice(from)
      .filter(({ state }) => kind === undefined || state.kind === kind);
    return limit === undefined ? rest : rest.slice(0, limit);
  }

  async listScheduled(): Promise<readonly { readonly id: string; readonly version: number }[]> {
    return [...this.#entries.values()]
      .flatMap(({ versions }) => [...versions.values()])
      .filter((version) => version.is_scheduled)
      .map(({ id, version }) => ({ id, version }))
      .sort((a, b) => compare(a.id, b.id) || a.version - b.version);
  }

  async changeTemplate({ before, after, version }: TemplateChange): Promise<boolean> {
    const id = (after ?? before)?.id ?? '';
    const entry = this.#entries.get(id);
    if (entry?.state.revision !== before?.revision) return false;
    if (after === undefined) this.#entries.delete(id);
    else {
      const versions = new Map(entry?.versions);
      if (version !== undefined) versions.set(version.version, version);
      for (const number of versions.keys())
        if (!after.versions.includes(number)) versions.delete(number);
      this.#entries.set(id, { state: after, versions });
    }
    return true;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
