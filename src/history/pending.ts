import { indexRun } from '../journal/run-index.ts'
import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/source.ts'
import { begunEffects, needsChoice } from '../journal/uncertain.ts'
import { errorOf, valueOf } from './recorded.ts'
import { describeEffect } from './part-view.ts'

/** An effect that waits, or that began and whose end is not known, or that failed in a way that only a person can judge. */
export interface PendingView {
  /** What `baton resume --uncertain` takes. */
  readonly id: string
  readonly place: string
  readonly kind: string
  readonly text: string
  /**
   * What a resume does: `again`: it is repeated; `files`: it looks whether the file was changed; `choice`: it needs
   * `--uncertain`; `waits`: it was suspended before anything of it happened, and is asked for again.
   */
  readonly resume: 'again' | 'files' | 'choice' | 'waits'
  readonly error: string | null
}

/** The effects of a run folder whose end is not known. */
export async function pendingEffects(folder: string): Promise<readonly PendingView[]> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const index = await indexRun(source, { keeps: 'unfinished', repair: 'skip' })
    return begunEffects(index).flatMap(({ node, place, started }): readonly PendingView[] => {
      const { e, n, kind, request } = started
      const ended = node.ended === undefined ? undefined : source.at(node.ended)
      const open = kind === 'file' ? 'files' : needsChoice(started, node) ? 'choice' : 'again'
      const resume = node.waits === true ? 'waits' : open
      // what is known to have failed is made again as what never began is
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
