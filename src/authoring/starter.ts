/** A file that is to be made. `path` is absolute. */
export interface StarterFile {
  readonly path: string
  readonly text: string
}

/** What `baton new` makes, and what a person does next. */
export interface Starter {
  readonly files: readonly StarterFile[]
  readonly next: readonly NextStep[]
}

export type NextStep =
  | { readonly kind: 'command'; readonly command: string; readonly note?: string }
  | { readonly kind: 'text'; readonly text: string }
