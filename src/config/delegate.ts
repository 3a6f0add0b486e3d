import { basename, extname } from 'node:path'
import { defined, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'

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
export interface WrittenDelegate {
  readonly team?: string
  readonly max_workers?: number
  readonly task_format?: Delegate['format']
  readonly notifications?: boolean
  readonly task_list?: string
  readonly workers?: readonly (string | { readonly name?: string; readonly agent?: string })[]
  readonly lease?: string
  readonly stall_after?: string
}

const usualWorkers: readonly DelegateWorker[] = ['Explore', 'Plan', 'general-purpose'].map((name) => ({
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
    workers: workers === undefined ? usualWorkers : workers.map(workerOf),
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
