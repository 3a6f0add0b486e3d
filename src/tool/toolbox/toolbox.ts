import { sha256 } from '../../base/hash.ts'
import type { Tool } from '../../event/agent.ts'
import type { FileChange } from '../../event/event.ts'
import { createShellSession, type ShellSession } from '../shell/session.ts'
import { bindTool } from './bind.ts'
import type { ChangeLimits, Outputs, Toolbox, WorkLog } from './kind.ts'
import { createPlanMode } from './plan-mode.ts'
import { rowOf, type ToolName } from './rows.ts'
import { createSeenLog } from './seen-log.ts'

export interface ToolboxOptions {
  readonly baseDir: string
  /** Hashes of files that the prompt contains in full, by absolute path. */
  readonly shown?: ReadonlyMap<string, string>
  readonly limits?: Partial<ChangeLimits>
  /** Whether the tool \`read\` is among the tools; default: true. */
  readonly hasRead?: boolean
  /** The shell of its command lines; default: a new one. */
  readonly shell?: ShellSession
}

/** Default limit of what one call may write. */
const defaultMaxBytes = 256 * 1024 * 1024

/** The initial shared state of the tools of one conversation. */
export function createToolbox({ baseDir, shown, limits = {}, hasRead = true, shell }: ToolboxOptions): Toolbox {
  const { allow = [], maxBytes = defaultMaxBytes } = limits
  return {
    baseDir,
    seen: createSeenLog(shown),
    outputs: createOutputs(),
    hasRead,
    plan: createPlanMode(),
    shell: shell ?? createShellSession(baseDir),
    limits: { allow, maxBytes },
    work: createWorkLog(),
    first: new Map(),
  }
}

/** The tools of one conversation, in the order of the list of names. Those of teams are not among them. */
export async function openTools(names: readonly ToolName[], box: Toolbox): Promise<readonly Tool[]> {
  const kinds = await Promise.all(names.map(async (name) => rowOf(name).load?.()))
  return kinds.flatMap((kind) => (kind === undefined ? [] : [bindTool(kind, box)]))
}

function createWorkLog(): WorkLog {
  const made: FileChange[] = []
  const diffs = new Map<string, string>()
  return {
    add(changes, planned) {
      made.push(...changes)
      if (planned !== undefined) diffs.set(planned.path, planned.diff)
    },
    changes: () => made,
    diff: () => [...diffs.values()].join(''),
    planned: () => [...diffs].map(([path, diff]) => ({ path, diff })),
    hasPlanned: (path) => diffs.has(path),
  }
}

/** Most characters of outputs that one conversation holds in memory if the run keeps no texts. */
const mostInMemory = 16 * 1024 * 1024
const idLength = 12

function createOutputs(): Outputs {
  const hashes = new Map<string, string>()
  /** Oldest first. */
  const held = new Map<string, string>()
  let size = 0

  function hold(hash: string, text: string): void {
    if (held.has(hash)) return
    held.set(hash, text)
    size += text.length
    for (const [oldest, { length }] of held) {
      if (size <= mostInMemory || oldest === hash) return
      held.delete(oldest)
      size -= length
    }
  }

  return {
    keep(text, texts) {
      const hash = sha256(text)
      const id = hash.slice(0, idLength)
      hashes.set(id, hash)
      if (texts === undefined) hold(hash, text)
      else texts.keep(text)
      return { id, hash }
    },
    know: ({ id, hash }) => void hashes.set(id, hash),
    isEmpty: () => hashes.size === 0,
    find(id, texts) {
      const hash = hashes.get(id)
      return hash === undefined ? undefined : (held.get(hash) ?? texts?.find(hash))
    },
  }
}
