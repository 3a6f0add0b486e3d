import type { FileChange } from '../../event/event.ts'
import { createShellSession } from '../shell/session.ts'
import type { ChangeLimits, Toolbox, WorkLog } from './kind.ts'
import { createOutputs } from './outputs.ts'
import { createPlanMode } from './plan-mode.ts'
import { createSeenLog } from './seen-log.ts'

export interface ToolboxOptions {
  readonly baseDir: string
  /** Hashes of files that the prompt contains in full, by absolute path. */
  readonly shown?: ReadonlyMap<string, string>
  readonly limits?: Partial<ChangeLimits>
}

/** Default limit of what one call may write. */
const usualMaxBytes = 256 * 1024 * 1024

/** The initial shared state of the tools of one conversation. */
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
