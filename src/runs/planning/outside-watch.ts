export type Variables = Readonly<Record<string, string | undefined>>;
export type VariableReads = readonly {
  readonly name: string;
  readonly value: string | undefined;
}[];

/**
 * Notes what one preparation takes from outside of its document: that decides whether its result is
 * good for another time.
 */
export class OutsideWatch {
  readonly #reads = new Map<string, string | undefined>();
  #asked = false;

  /**
   * The variables that were read, with their values; undefined when something was asked that may
   * answer differently next time.
   */
  get reads(): VariableReads | undefined {
    return this.#asked ? undefined : [...this.#reads].map(([name, value]) => ({ name, value }));
  }

  variables(variables: Variables): Variables {
    return new Proxy(variables, {
      get: (target, name) => this.#note(target, name),
      has: (target, name) => this.#note(target, name) !== undefined,
      getOwnPropertyDescriptor: (target, name) => {
        this.#note(target, name);
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
      ownKeys: (target) => {
        this.#asked = true;
        return Reflect.ownKeys(target);
      },
    });
  }

  /** For what reads files or asks others. */
  calls<A extends readonly unknown[], R>(ask: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      this.#asked = true;
      return ask(...args);
    };
  }

  #note(target: Variables, name: string | symbol): string | undefined {
    if (typeof name === 'symbol') return undefined;
    const value = Object.hasOwn(target, name) ? target[name] : undefined;
    this.#reads.set(name, value);
    return value;
  }
}
