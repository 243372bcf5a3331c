/** What triggers that look at other systems remember: how far they have come. */

/** JSON text, with the number of its change. */
export interface TriggerMemory {
  readonly revision: number;
  readonly content: string;
}

export interface TriggerStore {
  getTriggerMemory(name: string): Promise<TriggerMemory | undefined>;
  /**
   * Takes the place of the memory with this revision; of none for 0. Gives false when another
   * server changed it meanwhile: nothing was changed then.
   */
  putTriggerMemory(name: string, memory: TriggerMemory): Promise<boolean>;
}
