import { indexRun } from '../journal/run-index.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import { startedEffects, needsChoice } from '../journal/uncertain.ts'
import { errorOf, valueOf } from './recorded.ts'
import { describeEffect } from './part-view.ts'

/** An effect that is waiting, or whose outcome is unknown, or that failed in a way that only the user can judge. */
export interface PendingView {
  /** The id that `baton resume --uncertain` takes. */
  readonly id: string
  readonly place: string
  readonly kind: string
  readonly text: string
  /**
   * What a resume does: `again`: repeats it; `files`: checks whether the file was changed; `choice`: needs
   * `--uncertain`; `waits`: it was suspended before anything happened, and is requested again.
   */
  readonly resume: 'again' | 'files' | 'choice' | 'waits'
  readonly error: string | null
}

/** The effects of a run folder whose outcome is unknown. */
export async function pendingEffects(folder: string): Promise<readonly PendingView[]> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const index = await indexRun(source, { keeps: 'unfinished', repair: 'skip' })
    return startedEffects(index).flatMap(({ node, place, started }): readonly PendingView[] => {
      const { e, n, kind, request } = started
      const ended = node.ended === undefined ? undefined : source.at(node.ended)
      const open = kind === 'file' ? 'files' : needsChoice(started, node) ? 'choice' : 'again'
      const resume = node.waits === true ? 'waits' : open
      // an effect that definitely failed is repeated like one that never started
      if (ended?.k === 'ended' && ended.status === 'error' && resume !== 'choice') return []
      const text = describeEffect(kind, valueOf(request, source))
      return [
        { id: `${e}.${n}`, place, kind, text, resume, error: ended === undefined ? null : errorOf(ended, source) },
      ]
    })
  } finally {
    source.close()
  }
}
