import type { RE2JS } from 're2js';

type Piece = string | { readonly group: string | number };

/**
 * Replaces all matches. In the template `$name` takes the longest run of letters, digits and `_`,
 * `${name}` is exact, `$$` is a dollar sign, and a group that does not exist is empty.
 */
export function replacing(pattern: RE2JS, template: string): (text: string) => string {
  const pieces = piecesOf(template);
  const names = new Set(Object.keys(pattern.namedGroups()));
  const count = pattern.groupCount();
  const exists = (group: string | number): boolean =>
    typeof group === 'number' ? group <= count : names.has(group);
  const known = pieces.filter((piece) => typeof piece === 'string' || exists(piece.group));
  return (text) => {
    const matcher = pattern.matcher(text);
    let out = '';
    let from = 0;
    while (matcher.find()) {
      out += text.slice(from, matcher.start());
      for (const piece of known)
        out += typeof piece === 'string' ? piece : (matcher.group(piece.group) ?? '');
      from = matcher.end();
    }
    return out + text.slice(from);
  };
}

function piecesOf(template: string): Piece[] {
  const pieces: Piece[] = [];
  for (const [whole, dollar, braced, bare] of template.matchAll(
    /(\$\$)|\$\{([^}]+)\}|\$([0-9A-Za-z_]+)|[^$]+|\$/g,
  )) {
    const name = braced ?? bare;
    if (name !== undefined) pieces.push({ group: /^[0-9]+$/.test(name) ? Number(name) : name });
    else pieces.push(dollar === undefined ? whole : '$');
  }
  return pieces;
}
