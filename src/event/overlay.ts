/**
 * A file change that a run planned but did not make. Paths are absolute. A type, because interfaces do not match
 * `Json`.
 */
export type OverlayChange = OverlayStep & {
  /**
   * SHA-256 of the text that the change was planned for: of the file that is written, deleted, moved or copied; null if
   * there was none. Omitted if it is no text, and in records of earlier versions.
   */
  readonly over?: string | null
}

type OverlayStep =
  /** `hash`: SHA-256 of the content that the file would have. */
  | { readonly op: 'write'; readonly path: string; readonly hash: string }
  | { readonly op: 'copy' | 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'delete'; readonly path: string }

/** What would be at a path by now. */
export type OverlayEntry =
  /** What is on disk at a path: the requested one, or the one it would have been moved or copied from. */
  | { readonly kind: 'disk'; readonly path: string }
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'folder' | 'nothing' }

/**
 * The hypothetical state of files in a run that changes none. One per run: its tasks see the planned changes of others.
 */
export interface Overlay {
  /** `path` is absolute; links are followed. */
  readonly at: (path: string) => OverlayEntry
  /**
   * Appends a change; `text` is the content that a file would have. Returns false, and adds nothing, if that would
   * exceed the limit of a run.
   */
  readonly add: (change: OverlayChange, text?: string) => boolean
}
