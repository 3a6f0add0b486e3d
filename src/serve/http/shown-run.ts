import { isAbsolute, join } from 'node:path'
import type { ChatOfRun } from '../../chat/chat-list.ts'
import { runName } from '../../history/run-name.ts'
import { foreignCheck } from '../../journal/own-run.ts'
import { isActive, type RunSummary, type ShownStatus, type ShownSummary } from '../../journal/summary.ts'
import type { ActiveRuns } from './active-runs.ts'
import type { ServedWorkspace } from './served-workspace.ts'

/** A run as clients get it. */
export interface ShownRun extends ShownSummary {
  /** What it is called: the path of its file in the workspace, the name of its agent, or the first message of its chat. */
  readonly name: string
  /** The chat that it is a message of. */
  readonly chat?: Pick<ChatOfRun, 'id' | 'message'>
  /** How many tasks it has; omitted: not known. */
  readonly planned?: number
  /** Not recorded by this installation, and therefore read-only. */
  readonly foreign?: true
}

/** Adds to runs what is known besides their records. */
export interface ShownRuns {
  /** Also whether it waits for an answer to a server, which is not recorded. */
  readonly show: (run: RunSummary) => Promise<ShownRun>
  readonly showAll: (runs: readonly RunSummary[]) => Promise<readonly ShownRun[]>
  /** The name of a run, for those that are searched. */
  readonly nameOf: (run: Pick<RunSummary, 'id' | 'file'>) => string
  /** The state of a run, also before it is shown. */
  readonly stateOf: (run: Pick<RunSummary, 'id' | 'status'>) => ShownStatus
}

/** What is shown of a run: one that waits for its turn was stopped before it began, according to its record. */
export function asShown(run: RunSummary, { isQueued }: Pick<ActiveRuns, 'isQueued'>): ShownSummary {
  return isQueued(run.id) ? { ...run, status: 'queued' } : run
}

export function createShownRuns(served: ServedWorkspace, held: ActiveRuns): ShownRuns {
  const { runs, workspace } = served
  const { chatOf } = served.chats

  function nameOf({ id, file }: Pick<RunSummary, 'id' | 'file'>): string {
    // a chat with a prompt file has the name of the file
    return (isAbsolute(file) ? undefined : chatOf(id)?.first) ?? runName(file, workspace)
  }

  /** How many answers to servers it waits for. */
  function questionsOf({ id, status }: Pick<RunSummary, 'id' | 'status'>): number {
    return isActive(status) ? held.questions(id).length : 0
  }

  function stateOf(run: Pick<RunSummary, 'id' | 'status'>): ShownStatus {
    if (held.isQueued(run.id)) return 'queued'
    return questionsOf(run) > 0 ? 'waiting' : run.status
  }

  async function show(run: RunSummary, isForeign: ReturnType<typeof foreignCheck>): Promise<ShownRun> {
    const { id, waits = 0 } = run
    const questions = questionsOf(run)
    const chat = chatOf(id)
    const planned = held.plannedTasks(id)
    return {
      ...run,
      status: stateOf(run),
      ...(questions > 0 && { waits: waits + questions }),
      name: nameOf(run),
      ...(chat !== undefined && { chat: { id: chat.id, message: chat.message } }),
      ...(planned !== undefined && { planned }),
      ...((await isForeign(join(runs, id))) && { foreign: true }),
    }
  }

  return {
    nameOf,
    stateOf,
    show: (run) => show(run, foreignCheck(served)),
    async showAll(all) {
      const isForeign = foreignCheck(served)
      return Promise.all(all.map((run) => show(run, isForeign)))
    },
  }
}
