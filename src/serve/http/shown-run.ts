import { statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
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
  readonly chat?: ChatOfRun
  /** How many tasks it has; omitted: not known. */
  readonly planned?: number
  /** Not recorded by this installation, and therefore read-only. */
  readonly foreign?: true
}

interface ChatOfRun {
  readonly id: string
  /** The start of the message. */
  readonly message: string
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
  const chatOf = chatsByRun(served)

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

/** Milliseconds between looks at the list of chats. */
const lookMs = 100

interface ListedChat extends ChatOfRun {
  /** The start of the first message of the chat. */
  readonly first: string
}

/** The chat of a run, from the list of chats, which is read again when it has changed. */
function chatsByRun({ runs, listChats }: ServedWorkspace): (run: string) => ListedChat | undefined {
  let known = new Map<string, ListedChat>()
  let mark = ''
  let lookedAt = 0
  return (run) => {
    // thousands of runs are searched in one go
    if (Date.now() - lookedAt < lookMs) return known.get(run)
    lookedAt = Date.now()
    const stat = statSync(join(runs, 'chats.jsonl'), { throwIfNoEntry: false })
    const now = `${stat?.mtimeMs ?? 0}/${stat?.size ?? 0}`
    if (now !== mark) {
      mark = now
      known = new Map(
        listChats().flatMap(({ id, messages }) =>
          messages.map(({ run: one, text }) => [one, { id, message: text, first: messages[0]?.text ?? text }] as const),
        ),
      )
    }
    return known.get(run)
  }
}
