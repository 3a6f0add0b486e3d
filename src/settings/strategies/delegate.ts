import { basename, extname } from 'node:path'
import { defined, type JsonObject } from '../../base/json.ts'
import type { DataPath } from '../../base/data-text.ts'
import { parseDuration } from '../../base/duration.ts'
import { type Finding, wrongValue } from '../issue.ts'
import { type SettingRow, strategyOnly, type TableOf } from '../setting.ts'

export const delegate = {
  ...strategyOnly,
  text: 'A team of agents works on a list of items.',
  strategy: { agents: ['workers', 'a worker'], read: readDelegate },
  check: checkDelegate,
  keys: {
    team: { schema: ({ name }) => name, text: 'Its name. Default: the name of the file.' },
    max_workers: {
      schema: ({ integer }) => integer(1, 1000),
      text: 'Maximum number of workers at the same time. Default: 5.',
    },
    task_format: {
      schema: ({ oneOf }) => oneOf('markdown', 'json'),
      text: 'The format of the list. Default: markdown.',
    },
    notifications: { schema: ({ flag }) => flag, text: 'Members are notified of unread messages. Default: true.' },
    task_list: {
      schema: ({ name }) => name,
      text: 'The list: a file in the folder of the run, or, with a slash, a path relative to the workspace. Default: tasks.md.',
    },
    lease: {
      schema: ({ timeLimit }) => timeLimit,
      text: 'The items of a worker that has done nothing for this long can be claimed by others again. Default: 10m.',
    },
    stall_after: {
      schema: ({ timeLimit }) => timeLimit,
      text: 'The leader is notified if no worker has made progress for this long. Default: 2m.',
    },
    workers: {
      text: 'Agents that may be workers: names, or tables with a name and an agent. Default: Explore, Plan, general-purpose.',
      each: { list: 'a list', orName: 'a name or a table with a name' },
      keys: {
        name: { schema: ({ name }) => name, text: 'Its name for the leader. Default: derived from its agent.' },
        agent: {
          schema: ({ name }) => name,
          text: 'The agent: a name in [agents], a built-in agent, or a prompt file. Default: its name.',
        },
      },
    },
  },
} as const satisfies SettingRow

/** A kind of worker: its name for the leader, and its agent. Plain JSON. */
export interface DelegateWorker {
  readonly name: string
  readonly agent: string
  /** Located at the path `['delegate', 'workers', index]`; the default workers have no place. */
  readonly index?: number
}

/** `[delegate]`, with its defaults. Plain JSON. */
export interface Delegate {
  /** Default: the name of the file. */
  readonly team?: string
  /** Workers at the same time. */
  readonly maxWorkers: number
  readonly format: 'markdown' | 'json'
  /** Members are notified of unread messages. */
  readonly notifies: boolean
  /** The name of the task list in the folder of the run; with a slash, its path from the workspace. */
  readonly list: string
  readonly workers: readonly DelegateWorker[]
  /** After this time without activity of a worker, its claimed items are released. */
  readonly leaseMs: number
  /** The leader is notified if no worker has made progress for this long. */
  readonly stallAfterMs: number
}

/** `[delegate]` as written, after its types were checked. */
type WrittenDelegate = TableOf<typeof delegate>

const defaultWorkers: readonly DelegateWorker[] = ['Explore', 'Plan', 'general-purpose'].map((name) => ({
  name,
  agent: name,
}))

/** The settings of a checked `delegate` table. */
export function readDelegate(value: JsonObject): Delegate {
  const written = value as WrittenDelegate
  const { team, max_workers: maxWorkers = 5, task_format: format = 'markdown', notifications = true } = written
  const {
    task_list: list = format === 'json' ? 'tasks.json' : 'tasks.md',
    workers,
    lease = '10m',
    stall_after: stallAfter = '2m',
  } = written
  return {
    ...defined({ team }),
    maxWorkers,
    format,
    notifies: notifications,
    list,
    workers: workers === undefined ? defaultWorkers : workers.map(workerOf),
    leaseMs: parseDuration(lease) ?? 0,
    stallAfterMs: parseDuration(stallAfter) ?? 0,
  }
}

function workerOf(written: NonNullable<WrittenDelegate['workers']>[number], index: number): DelegateWorker {
  if (typeof written === 'string') return { name: nameOf(written), agent: written, index }
  const { name = nameOf(written.agent ?? ''), agent = name } = written
  return { name, agent, index }
}

/** `agents/Code.md` becomes `Code`. */
function nameOf(agent: string): string {
  return basename(agent, extname(agent))
}

/** Whether the list is in the workspace: its name is then a path. */
export function isInWorkspace(list: string): boolean {
  return list.includes('/')
}

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
