/** What files would hold by now in a run that changes none, by their paths (absolute, links resolved). */
export interface PlannedTexts {
  /** Undefined: what is on the disk. */
  readonly textAt: (path: string) => string | undefined
  /** False: that would be more than a run holds, and nothing is noted. */
  readonly set: (path: string, text: string) => boolean
}

/** Characters of all files together. */
export const mostPlanned = 64 * 1024 * 1024

/** One for each run: its tasks see what those before them would have changed. */
export function createPlannedTexts(most = mostPlanned): PlannedTexts {
  const texts = new Map<string, string>()
  let size = 0
  return {
    textAt: (path) => texts.get(path),
    set(path, text) {
      const after = size - (texts.get(path)?.length ?? 0) + text.length
      if (after > most) return false
      size = after
      texts.set(path, text)
      return true
    },
  }
}
