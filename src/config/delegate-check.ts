import type { DataPath } from '../base/data-text.ts'
import type { JsonObject } from '../base/json.ts'
import { readDelegate, type WrittenDelegate } from './delegate.ts'
import { type Finding, wrongValue } from './issue.ts'

const workerName = /^[A-Za-z][\w-]{0,63}$/
const ownNames: ReadonlySet<string> = new Set(['leader', 'all', 'self', 'teammate'])

/** What in a checked `delegate` table does not fit together. */
export function checkDelegate(value: JsonObject): readonly Finding[] {
  const { workers } = value as WrittenDelegate
  const { workers: read, list, format } = readDelegate(value)
  const names = read.map(({ name }) => name)
  const found = read.flatMap(({ name, index }): readonly Finding[] => {
    const path: DataPath = ['delegate', 'workers', index ?? 0]
    if (!workerName.test(name) || ownNames.has(name)) {
      const hint =
        'Write { name = "Code", agent = "…" }: letters, digits, - and _, a letter first, and not leader or all.'
      return [wrongValue(path, { message: `"${name}" cannot be the name of a worker`, hint })]
    }
    if (names.indexOf(name) === names.lastIndexOf(name) || names.indexOf(name) === index) return []
    const hint = 'Rename one: a worker may be started as often as it is needed.'
    return [wrongValue(path, { message: `two workers of the team are named "${name}"`, hint })]
  })
  if (workers?.length === 0) {
    const hint = 'Name agents, or leave workers out: then it has Explore, Plan and general-purpose.'
    found.push(wrongValue(['delegate', 'workers'], { message: 'the team has no worker', hint }))
  }
  const isFile = /[^/]$/.test(list) && !/(?:^|\/)\.{1,2}$/.test(list)
  if (!isFile || list === 'items.json') {
    const hint = `Write a file, such as "${format === 'json' ? 'tasks.json' : 'tasks.md'}".`
    found.push(wrongValue(['delegate', 'task_list'], { message: `"${list}" cannot be the list of the team`, hint }))
  }
  return found
}
