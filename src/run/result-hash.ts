import { sha256 } from '../base/hash.ts'
import type { TextMap } from '../journal/value.ts'
import type { Ending } from './ending.ts'

/** Hash of what a run gave, for comparing it with what a replay gives: answers and outputs, with paths as `map` writes them. */
export function resultHash({ tasks, outputs }: Pick<Ending, 'tasks' | 'outputs'>, map: TextMap): string {
  const answers = tasks.map((task) => (task.status === 'done' ? task.content : task.status))
  return sha256(
    JSON.stringify([answers, outputs], (_, value: unknown) => (typeof value === 'string' ? map(value) : value)),
  )
}
