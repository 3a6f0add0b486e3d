import { canonicalJson, type Json } from '../../base/json.ts'

/** An answer, with the names of the members that gave it. Plain JSON. */
export type Vote = {
  readonly value: Json
  readonly members: readonly string[]
}

/**
 * The distinct values that the members voted for, the most frequent first; of equally frequent ones, the one whose
 * first voter is listed first. Values are equal if their canonical JSON is.
 */
export function countVotes(ballots: readonly { readonly name: string; readonly value: Json }[]): readonly Vote[] {
  const byValue = new Map<string, { readonly value: Json; readonly members: string[] }>()
  for (const { name, value } of ballots) {
    const key = canonicalJson(value)
    const known = byValue.get(key) ?? { value, members: [] }
    known.members.push(name)
    byValue.set(key, known)
  }
  // sorting is stable
  return [...byValue.values()].toSorted((one, other) => other.members.length - one.members.length)
}
