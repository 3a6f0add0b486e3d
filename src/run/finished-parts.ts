import type { FinishedPart } from '../journal/verified-effects.ts'
import type { RunIndex } from '../journal/run-index.ts'

/** Name of each input of a part to the hash of its value; see `boundaryKey`. */
export type PartKey = Readonly<Record<string, string>>

/** A part that a run has finished, with what it was finished for. */
interface KeyedPart extends FinishedPart {
  readonly key: PartKey
}

/** The `pre` steps and tasks that the first round of a run has finished. */
export interface FinishedParts {
  /** A task is found by what it is about, wherever it stood; a step by its place. */
  readonly find: (place: string, key: PartKey) => KeyedPart | undefined
  /** What tells the parts apart. */
  readonly identities: ReadonlySet<string>
}

/** Whether something is a part: a `pre` step or a task of the first round, not of a prompt file that runs as an agent. */
export function isPart(place: readonly string[]): boolean {
  return place.length === 2 && (place[0] === 'pre' || place[0] === 'task')
}

export function finishedParts(index: RunIndex): FinishedParts {
  const parts = new Map<string, KeyedPart[]>()
  for (const stage of ['pre', 'task']) {
    for (const [name, node] of index.tree.find(stage)?.parts ?? []) {
      if (typeof node === 'number' || node.begin === undefined || node.done === undefined) continue
      const begin = index.source.at(node.begin)
      if (begin.k !== 'begin') continue
      const part = { index, place: `${stage}/${name}`, key: begin.key }
      const identity = identityOf(part.place, part.key)
      parts.set(identity, [...(parts.get(identity) ?? []), part])
    }
  }
  return {
    find(place, key) {
      const found = parts.get(identityOf(place, key)) ?? []
      return found.find((part) => part.place === place) ?? found[0]
    },
    identities: new Set(parts.keys()),
  }
}

function identityOf(place: string, key: PartKey): string {
  return place.startsWith('task/') ? `task ${key['plan'] ?? ''}` : place
}

/** Inputs that are looked at in another way: an agent by its file, and where a task stands by what it makes of that. */
const notCompared: ReadonlySet<string> = new Set(['agent', 'position'])

/** The names of the inputs of a part that are not what they were. */
export function changedInputs(then: PartKey, now: PartKey): readonly string[] {
  const names = [...new Set([...Object.keys(then), ...Object.keys(now)])]
  return names.filter((name) => !notCompared.has(name) && then[name] !== now[name])
}
