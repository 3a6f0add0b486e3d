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
