import { withServices } from '../../src/event/context.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createResumedEffects } from '../../src/journal/resumed-effects.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { recordChoices, findUnfinishedEffects } from '../../src/journal/uncertain.ts'
import { settleChange } from '../../src/tool/change-state.ts'
import { testContext, type TestContext, type TestContextOptions } from './context.ts'
import { openGate } from './effects.ts'
import { openMemoryRecords } from './memory-journal.ts'

/** The process has ended: nothing is recorded anymore. */
export class Killed extends Error {}

export interface ResumedProcess {
  readonly context: TestContext
  /** Effects whose outcome is unknown. */
  readonly uncertain: readonly string[]
}

export interface Lives {
  /** The number of records until it dies. */
  readonly lives?: number
  /** Its last record starts a file change: the change is made, or not. */
  readonly diesBefore?: 'the change' | 'its end'
  /** Called before each file change; may throw what the disk would throw. */
  readonly onChange?: () => void
  /** Additional options of the context. */
  readonly given?: TestContextOptions
}

/**
 * A process that starts or resumes a run in a workspace on disk. `records` are those of all processes so far; it
 * appends its own.
 */
export async function resumedProcess(
  workspace: string,
  records: JournalRecord[],
  { lives = Infinity, diesBefore = 'its end', onChange, given = {} }: Lives = {},
): Promise<ResumedProcess> {
  const before = [...records]
  let left = lives
  const journal = createMemoryJournal({
    epoch: (before.at(-1)?.e ?? 0) + 1,
    keep(record) {
      if (left <= 0) throw new Killed()
      left -= 1
      records.push(record)
    },
  })
  const change = (_: unknown, act: () => void): void => {
    onChange?.()
    if (left <= 0 && diesBefore === 'the change') throw new Killed()
    act()
  }
  const live = createEffects({ ...openGate, journal, signal: new AbortController().signal, hooks: [{ change }] })
  const index = await indexRun(openMemoryRecords(before, noMask), { keeps: 'unfinished' })
  const { found, uncertain } = findUnfinishedEffects(index, {
    stateOf: (change, added) => settleChange(change, workspace, added),
    presentText: () => '',
  })
  recordChoices(found, journal, index)
  const effects = createResumedEffects({
    index,
    journal,
    live,
    usesCurrent: false,
    onRepeat: () => {},
    onRecall: () => {},
    onShow: () => {},
  })
  const context = testContext({ ...given, workspace })
  const own = withServices(context, { effects })
  return { context: { ...context, ...own }, uncertain: uncertain.map(({ what }) => what) }
}
