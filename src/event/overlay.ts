/** A change of files that a run has planned and not made. Paths are absolute. A type, because only types are JSON. */
export type OverlayChange =
  /** `hash`: SHA-256 of what the file would hold. */
  | { readonly op: 'write'; readonly path: string; readonly hash: string }
  | { readonly op: 'copy' | 'move'; readonly from: string; readonly path: string }
  | { readonly op: 'delete'; readonly path: string }

/** What would stand at a path by now. */
export type OverlayEntry =
  /** What the disk has at a path: at the one that was asked for, or where it would have been moved or copied from. */
  | { readonly kind: 'disk'; readonly path: string }
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'folder' | 'nothing' }

/** How files would be by now in a run that changes none. One for each run: its tasks see what others would have changed. */
export interface Overlay {
  /** Absolute; links count as what they lead to. */
  readonly at: (path: string) => OverlayEntry
  /**
   * Adds a change behind those before it; `text` is what a file would hold. False: that would be more than a run holds, and
   * nothing is added.
   */
  readonly add: (change: OverlayChange, text?: string) => boolean
}
