import type { SecretManagerDefinition } from '../kit/secrets.ts';

type Parse = SecretManagerDefinition['parse'];

/** A name alone. */
export function wholeName(pattern: RegExp): Parse {
  return (name) => (!pattern.test(name) || name.includes('#') ? undefined : { name });
}

/** A name, and after a `#` a field of the secret. */
export function nameWithField(pattern: RegExp): Parse {
  const parseName = wholeName(pattern);
  return (text) => {
    const hash = text.indexOf('#');
    if (hash === -1) return parseName(text);
    const named = parseName(text.slice(0, hash));
    const field = text.slice(hash + 1);
    return named === undefined || field === '' ? undefined : { ...named, field };
  };
}
