import type { BlockDefinition } from '../blocks/define-block.ts';

type Member = keyof BlockDefinition;
type With<M extends Member> = BlockDefinition & Required<Pick<BlockDefinition, M>>;

const known = new WeakMap<readonly BlockDefinition[], Map<Member, readonly BlockDefinition[]>>();

/** The definitions that have a member. Found once for each list: every row of every plan asks. */
export function definitionsWith<M extends Member>(
  definitions: readonly BlockDefinition[],
  member: M,
): readonly With<M>[] {
  let ofList = known.get(definitions);
  if (ofList === undefined) known.set(definitions, (ofList = new Map()));
  let found = ofList.get(member);
  if (found === undefined)
    ofList.set(member, (found = definitions.filter((one) => one[member] !== undefined)));
  return found as readonly With<M>[];
}
