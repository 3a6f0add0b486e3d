import type { DataPath } from '../base/data-text.ts'
import type { JsonObject } from '../base/json.ts'
import { readDelegate, type WrittenDelegate } from './delegate.ts'
import { type Finding, wrongValue } from './issue.ts'

const workerName = /^[A-Za-z][\w-]{0,63}$/
const ownNames: ReadonlySet<string> = new Set(['leader', 'all', 'self', 'teammate'])

/** Inconsistencies in a checked `delegate` table. */
export function checkDelegate(value: JsonObject): readonly Finding[] {
  const { workers } = value as WrittenDelegate
  const { workers: read, list, format } = readDelegate(value)
  const names = read.map(({ name }) => name)
  const found = read.flatMap(({ name, index }): readonly Finding[] => {
    const path: DataPath = ['delegate', 'workers', index ?? 0]
    if (!workerName.test(name) || ownNames.has(name)) {
      const hint =
        'Write { name = "Code", agent = "…" }: letters, digits, - and _, starting with a letter, but not leader or all.'
      return [wrongValue(path, { message: `"${name}" cannot be the name of a worker`, hint })]
    }
    if (names.indexOf(name) === names.lastIndexOf(name) || names.indexOf(name) === index) return []
    const hint = 'Rename one, or remove it: a worker may be started any number of times.'
    return [wrongValue(path, { message: `two workers of the team are named "${name}"`, hint })]
  })
  if (workers?.length === 0) {
    const hint = 'Name agents, or omit workers: the default is Explore, Plan and general-purpose.'
    found.push(wrongValue(['delegate', 'workers'], { message: 'the team has no workers', hint }))
  }
  const isFile = /[^/]$/.test(list) && !/(?:^|\/)\.{1,2}$/.test(list)
  if (!isFile || list === 'items.json') {
    const hint = `Write a file, such as "${format === 'json' ? 'tasks.json' : 'tasks.md'}".`
    found.push(
      wrongValue(['delegate', 'task_list'], { message: `"${list}" cannot be the task list of the team`, hint }),
    )
  }
  return found
}
