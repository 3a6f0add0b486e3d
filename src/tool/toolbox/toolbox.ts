import type { FileChange } from '../../event/event.ts'
import { createShellSession } from '../shell/session.ts'
import type { ChangeLimits, Toolbox, WorkLog } from './kind.ts'
import { createOutputs } from './outputs.ts'
import { createPlanMode } from './plan-mode.ts'
import { createSeenLog } from './seen-log.ts'

export interface ToolboxOptions {
  readonly baseDir: string
  /** Files that the prompt shows whole: their hashes by absolute path. */
  readonly shown?: ReadonlyMap<string, string>
  readonly limits?: Partial<ChangeLimits>
}

/** What one call may write where no setting says so. */
const usualMaxBytes = 256 * 1024 * 1024

/** What the tools of one conversation share, at its beginning. */
export function createToolbox({ baseDir, shown, limits = {} }: ToolboxOptions): Toolbox {
  const { allow = [], maxBytes = usualMaxBytes } = limits
  return {
    baseDir,
    seen: createSeenLog(shown),
    outputs: createOutputs(),
    plan: createPlanMode(),
    shell: createShellSession(baseDir),
    limits: { allow, maxBytes },
    work: createWorkLog(),
    first: new Map(),
  }
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
