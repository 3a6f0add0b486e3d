/** A change of one file, as git names it in a diff. Paths are relative, modes are git's (`100644`). */
export type GitChange =
  | { readonly kind: 'created' | 'deleted'; readonly path: string; readonly mode: string }
  /** `modes`: before and after, if they differ. */
  | { readonly kind: 'changed'; readonly path: string; readonly modes?: readonly [string, string] | undefined }
  | { readonly kind: 'moved' | 'copied'; readonly path: string; readonly from: string }

/** The mode of a file that is not executable. */
export const plainMode = '100644'

/** The header lines in the diff of one file, as `git diff` writes them; `git apply` reads them. */
export function diffHead(change: GitChange): string {
  const { kind, path } = change
  const title = `diff --git a/${'from' in change ? change.from : path} b/${path}\n`
  switch (kind) {
    case 'created':
      return `${title}new file mode ${change.mode}\n`
    case 'deleted':
      return `${title}deleted file mode ${change.mode}\n`
    case 'changed':
      return change.modes === undefined ? title : `${title}old mode ${change.modes[0]}\nnew mode ${change.modes[1]}\n`
    case 'moved':
    case 'copied': {
      const word = kind === 'moved' ? 'rename' : 'copy'
      return `${title}${word} from ${change.from}\n${word} to ${path}\n`
    }
  }
}

/** The names of the two sides of a diff. */
export interface DiffNames {
  readonly from: string
  readonly to: string
}

export function diffNames({ kind, path }: GitChange): DiffNames {
  return { from: kind === 'created' ? '/dev/null' : `a/${path}`, to: kind === 'deleted' ? '/dev/null' : `b/${path}` }
}

/** Replaces contents that are not text. */
export function binaryDiff({ from, to }: DiffNames): string {
  return `Binary files ${from} and ${to} differ\n`
}
