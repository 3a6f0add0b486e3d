import type { Tool } from '../../event/agent.ts'
import type { FileChange } from '../../event/event.ts'
import { createShellSession } from '../shell/session.ts'
import { bindTool } from './bind.ts'
import type { ChangeLimits, Toolbox, WorkLog } from './kind.ts'
import { createOutputs } from './output.ts'
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
}

/** Default limit of what one call may write. */
const usualMaxBytes = 256 * 1024 * 1024

/** The initial shared state of the tools of one conversation. */
export function createToolbox({ baseDir, shown, limits = {}, hasRead = true }: ToolboxOptions): Toolbox {
  const { allow = [], maxBytes = usualMaxBytes } = limits
  return {
    baseDir,
    seen: createSeenLog(shown),
    outputs: createOutputs(),
    hasRead,
    plan: createPlanMode(),
    shell: createShellSession(baseDir),
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
