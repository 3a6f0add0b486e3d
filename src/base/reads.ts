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
