/** One line of `git status --porcelain=v1 -z`. Paths are from the top of the repository. */
export interface StatusEntry {
  readonly path: string
  /** Of a rename: the old name, which is gone. */
  readonly from?: string
  /** Something of it is staged. */
  readonly isStaged: boolean
  readonly isConflict: boolean
}

const conflicts: ReadonlySet<string> = new Set(['DD', 'AU', 'UD', 'UA', 'DU', 'AA', 'UU'])

/** Reads the NUL-separated form, in which no name is quoted or cut (TV11). */
export function parseStatus(text: string): readonly StatusEntry[] {
  const entries: StatusEntry[] = []
  const fields = text.split('\0')
  for (let index = 0; index < fields.length; index += 1) {
    const field = fields[index] ?? ''
    if (field.length < 4) continue
    const [state, path] = [field.slice(0, 2), field.slice(3)]
    const isStaged = !/^[ ?!]/.test(state)
    const isMoved = /[RC]/.test(state)
    if (isMoved) index += 1
    const from = isMoved && state.includes('R') ? fields[index] : undefined
    entries.push({ path, isStaged, isConflict: conflicts.has(state), ...(from === undefined ? {} : { from }) })
  }
  return entries
}

/** Every path of an entry. */
export function pathsOf({ path, from }: StatusEntry): readonly string[] {
  return from === undefined ? [path] : [path, from]
}
