import { noMask } from '../journal/secrets.ts'
import { openFileRecords } from '../journal/file-records.ts'
import { indexRun } from '../journal/run-index.ts'
import { begunEffects } from '../journal/uncertain.ts'
import { describeEffect } from './effect-text.ts'
import { errorOf, valueOf } from './recorded.ts'

/** An effect that began and whose end is not known, or that failed in a way that only a person can judge. */
export interface PendingView {
  /** What `baton resume --uncertain` takes. */
  readonly id: string
  readonly place: string
  readonly kind: string
  readonly text: string
  /**
   * What a resume does: `again`: it is done again; `files`: it looks whether the file was changed; `choice`: it needs
   * `--uncertain`.
   */
  readonly resume: 'again' | 'files' | 'choice'
  readonly error: string | null
}

/** The effects of a run folder whose end is not known (DESIGN 11 "Uncertain effects"). */
export async function pendingEffects(folder: string): Promise<readonly PendingView[]> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const index = await indexRun(source, { use: { kind: 'resume' }, repair: true })
    return begunEffects(index).flatMap(({ node, place, started }): readonly PendingView[] => {
      const { e, n, kind, repeat, request } = started
      const ended = node.ended === undefined ? undefined : source.at(node.ended)
      const resume = kind === 'file' ? 'files' : repeat === 'safe' ? 'again' : 'choice'
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
