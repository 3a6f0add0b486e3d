import type { ChangeSpace, Files } from './space.ts'

/** After this many attempts, the last state of files that keep changing is used. */
const mostLooks = 3

/** Repeats a computation on files until they are unchanged afterwards, because it may take a while. */
export async function whileUnchanged<T>(space: ChangeSpace, work: (space: ChangeSpace) => Promise<T>): Promise<T> {
  for (let look = 1; ; look += 1) {
    const { files, hasChanged } = noted(space.files)
    const result = await work({ ...space, files })
    if (look === mostLooks || !hasChanged()) return result
  }
}

function noted(present: Files): { readonly files: Files; readonly hasChanged: () => boolean } {
  const read = new Map<string, string>()
  const files: Files = {
    kindAt: present.kindAt,
    bytesAt: present.bytesAt,
    textAt(path) {
      const text = present.textAt(path)
      read.set(path, text)
      return text
    },
  }
  const isAsRead = ([path, text]: readonly [string, string]): boolean => {
    try {
      return present.textAt(path) === text
    } catch {
      return false
    }
  }
  return { files, hasChanged: () => ![...read].every(isAsRead) }
}
