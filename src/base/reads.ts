/**
 * Told what a run reads that decides what it does, so that it can be compared later (DESIGN 13 "Watch"). All paths are
 * absolute. What is said first of a path counts.
 */
export interface ReadLog {
  /** A file and the text that was read; without a text it is as it is now, which may be: not there. */
  readonly file: (path: string, text?: string) => void
  /** The same for a prompt file, of which nothing counts that stands below its `====` line. */
  readonly prompt: (path: string, text?: string) => void
  readonly list: (list: ReadList) => void
  /** What a run executes, which is kept to be found again by one that goes on. Left out: it is read from the disk. */
  readonly sources?: SourceFiles
}

/** What is at a path, as far as it decides what a run does. */
export type SourceEntry =
  | { readonly kind: 'file'; readonly text: string }
  /** `names`: the folders in it, sorted; left out: that it is there is all that counts. */
  | { readonly kind: 'folder'; readonly names?: readonly string[] }
  | { readonly kind: 'none' }

/** `prompt`: nothing counts that stands below the `====` line. */
export type SourcePart = 'whole' | 'prompt'

/** The files and folders that decide what a run executes (DESIGN 11 "Sources"). All paths are absolute. */
interface SourceFiles {
  /** What is to be found there whatever the disk holds; undefined: the disk is to be asked. */
  readonly stored: (path: string) => SourceEntry | undefined
  /** Told what was found, wherever it came from. */
  readonly found: (path: string, entry: SourceEntry, part: SourcePart) => void
}

/** Files that were listed by globs. */
export interface ReadList {
  readonly globs: readonly string[]
  readonly baseDir: string
  /** Nothing outside is listed. */
  readonly root: string
  /** What was found. */
  readonly found: readonly string[]
  /** Whether only the names count, or what is in the files as well. */
  readonly reads: 'names' | 'content'
}

/** Tells both; the first that has sources says what is stored. */
export function bothReads(first: ReadLog | undefined, second: ReadLog): ReadLog {
  if (first === undefined) return second
  const sources = first.sources ?? second.sources
  return {
    file(path, text) {
      first.file(path, text)
      second.file(path, text)
    },
    prompt(path, text) {
      first.prompt(path, text)
      second.prompt(path, text)
    },
    list(list) {
      first.list(list)
      second.list(list)
    },
    ...(sources === undefined ? {} : { sources }),
  }
}
