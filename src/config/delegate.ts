import { basename, extname } from 'node:path'
import { defined, type JsonObject } from '../base/json.ts'
import { parseDuration } from './duration.ts'

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
  /** The leader is told when no worker has got further for so long. */
  readonly stallAfterMs: number
}

/** `[delegate]` as it is written, once its types were checked. */
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

/** `agents/Code.md` is `Code`. */
function nameOf(agent: string): string {
  return basename(agent, extname(agent))
}

/** Whether a list is one of the workspace: its name is a path (R123). */
export function isInWorkspace(list: string): boolean {
  return list.includes('/')
}
