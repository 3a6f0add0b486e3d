/** One line of `git status --porcelain=v1 -z`. Paths are from the top of the repository. */
export interface StatusEntry {
  readonly path: string
  /** The old name of a renamed file. */
  readonly from?: string
  /** The file differs from the index. */
  readonly isUnstaged: boolean
}

/** Parses the NUL-separated form, in which names are never quoted or truncated (TV11). */
export function parseStatus(text: string): readonly StatusEntry[] {
  const entries: StatusEntry[] = []
  const fields = text.split('\0')
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index] ?? ''
    if (field.length < 4) continue
    const [state, path] = [field.slice(0, 2), field.slice(3)]
    const isMoved = /[RC]/.test(state)
    if (isMoved) index += 1
    const from = isMoved && state.includes('R') ? fields[index] : undefined
    entries.push({ path, isUnstaged: state[1] !== ' ', ...(from === undefined ? {} : { from }) })
  }
  return entries
}

/** Every path of an entry. */
export function pathsOf({ path, from }: StatusEntry): readonly string[] {
  return from === undefined ? [path] : [path, from]
}

/** Paths for `git add`, which fails for a path that is neither in the index nor on disk. */
export function unstagedOf(entries: readonly StatusEntry[]): readonly string[] {
  return entries.flatMap(({ path, isUnstaged }) => (isUnstaged ? [path] : []))
}
