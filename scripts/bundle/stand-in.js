/** By what registries and the command line find a definition. */
export const NAMES = ['role', 'type', 'aliases', 'name', 'summary'];

/** A definition of which only the names are known, those that it has; `load` gives the definition. */
export function standIn(known, load) {
  return new Proxy(known, new Members(load));
}

/** Handler of a proxy: what is not known is asked for. */
class Members {
  #load;

  constructor(load) {
    this.#load = load;
  }

  get(known, key) {
    return NAMES.includes(key) ? known[key] : this.#load()[key];
  }

  has(known, key) {
    return NAMES.includes(key) ? key in known : key in this.#load();
  }

  ownKeys() {
    return Reflect.ownKeys(this.#load());
  }

  getOwnPropertyDescriptor(known, key) {
    const found = Reflect.getOwnPropertyDescriptor(this.#load(), key);
    // A proxy must not call fixed what its own target does not have.
    return found && { ...found, configurable: true };
  }

  /** Definitions are frozen. */
  set() {
    return false;
  }

  defineProperty() {
    return false;
  }

  deleteProperty() {
    return false;
  }
}
