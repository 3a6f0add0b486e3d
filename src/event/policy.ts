/** Something a script or a model wants to do. Paths are absolute. */
export type Action =
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string }
  | { readonly kind: 'delete'; readonly path: string }

export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'ask' }
  | { readonly kind: 'deny'; readonly reason: string }

/** Decides before anything happens. Implemented in tool/policy.ts; asked with links resolved. */
export interface Policy {
  check(action: Action): Verdict
}

/**
 * What agents may do besides using files, where less than everything: a pack's capabilities. Each says why not, or
 * nothing. Implemented in tool/capabilities.ts.
 */
export interface Rights {
  /** A program, as a script names it. */
  readonly command: (name: string) => string | undefined
  readonly connect: (url: URL) => string | undefined
  /** A model that was chosen. */
  readonly model: (model: { readonly model: string; readonly label: string }) => string | undefined
  /** Whether programs get this variable of the environment. */
  readonly passes: (variable: string) => boolean
}
