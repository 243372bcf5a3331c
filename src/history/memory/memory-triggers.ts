import type { TriggerMemory, TriggerStore } from '../triggers.ts';

/** What is forgotten with the process. */
export class MemoryTriggers implements TriggerStore {
  readonly #memories = new Map<string, TriggerMemory>();

  async getTriggerMemory(name: string): Promise<TriggerMemory | undefined> {
    return this.#memories.get(name);
  }

  async putTriggerMemory(name: string, { revision, content }: TriggerMemory): Promise<boolean> {
    if ((this.#memories.get(name)?.revision ?? 0) !== revision) return false;
    this.#memories.set(name, { revision: revision + 1, content });
    return true;
  }
}
