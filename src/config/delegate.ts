import { basename, extname } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { defined, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'
import { type Finding, wrongValue } from './issue.ts'

/** A kind of worker: what the leader calls it, and the agent that it is. Plain JSON. */
export interface DelegateWorker {
  readonly name: string
  readonly agent: string
  /** Its place is that of the path `['delegate', 'workers', index]`; of the usual workers there is none. */
  readonly index?: number
}

/** `[delegate]`, with its defaults (R138 to R140). Plain JSON. */
export interface Delegate {
  /** Left out: the name of the file. */
  readonly team?: string
  /** At work at once. */
  readonly maxWorkers: number
  readonly format: 'markdown' | 'json'
  /** Members are told of messages that they have not read. */
  readonly notifies: boolean
  /** The name of the list in the folder of the run; with a slash, its path from the workspace (R123). */
  readonly list: string
  readonly workers: readonly DelegateWorker[]
  /** How long a worker may do nothing before what it has claimed is there for others again. */
  readonly leaseMs: number
}

/** `[delegate]` as it is written, once its types were checked. */
interface WrittenDelegate {
  readonly team?: string
  readonly max_workers?: number
  readonly task_format?: Delegate['format']
  readonly notifications?: boolean
  readonly task_list?: string
  readonly workers?: readonly (string | { readonly name?: string; readonly agent?: string })[]
  readonly lease?: string
}

const usualWorkers: readonly DelegateWorker[] = ['Explore', 'Plan', 'general-purpose'].map((name) => ({
  name,
  agent: name,
}))

/** The settings of a checked `delegate` table. */
export function readDelegate(value: JsonObject): Delegate {
  const written = value as WrittenDelegate
  const { team, max_workers: maxWorkers = 5, task_format: format = 'markdown', notifications = true } = written
  const { task_list: list = format === 'json' ? 'tasks.json' : 'tasks.md', workers, lease = '10m' } = written
  return {
    ...defined({ team }),
    maxWorkers,
    format,
    notifies: notifications,
    list,
    workers: workers === undefined ? usualWorkers : workers.map(workerOf),
    leaseMs: parseDuration(lease) ?? 0,
  }
}

function workerOf(written: NonNullable<WrittenDelegate['workers']>[number], index: number): DelegateWorker {
  if (typeof written === 'string') return { name: nameOf(written), agent: written, index }
  const { name = nameOf(written.agent ?? ''), agent = name } = written
  return { name, agent, index }
}

/** `agents/Code.md` is `Code`. */
function nameOf(agent: string): string {
  return basename(agent, extname(agent))
}

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

/** Whether a list is one of the workspace: its name is a path (R123). */
export function isInWorkspace(list: string): boolean {
  return list.includes('/')
}
