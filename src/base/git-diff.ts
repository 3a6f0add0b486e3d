/** What becomes of one file, as git names it in a diff. Paths are relative, modes as git has them (`100644`). */
export type GitChange =
  | { readonly kind: 'created' | 'deleted'; readonly path: string; readonly mode: string }
  /** `modes`: before and after, where they differ. */
  | { readonly kind: 'changed'; readonly path: string; readonly modes?: readonly [string, string] | undefined }
  | { readonly kind: 'moved' | 'copied'; readonly path: string; readonly from: string }

/** The mode of a file that is not executed. */
export const plainMode = '100644'

/** The lines above the contents in the diff of one file, as `git diff` has them; `git apply` reads them. */
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

/** What the two sides of a diff are called. */
export interface DiffNames {
  readonly from: string
  readonly to: string
}

export function diffNames({ kind, path }: GitChange): DiffNames {
  return { from: kind === 'created' ? '/dev/null' : `a/${path}`, to: kind === 'deleted' ? '/dev/null' : `b/${path}` }
}

/** Stands in place of contents that are no text. */
export function binaryDiff({ from, to }: DiffNames): string {
  return `Binary files ${from} and ${to} differ\n`
}
