import { transform } from 'sucrase'

/**
 * JavaScript with the same line breaks; or, if the text is not valid TypeScript either, the error and its position,
 * counted from 1.
 */
export type StripResult =
  | { readonly kind: 'ok'; readonly text: string }
  | { readonly kind: 'failed'; readonly message: string; readonly line?: number; readonly column?: number }

/** Removes the types from a program. */
export function stripTypes(text: string): StripResult {
  try {
    const { code } = transform(text, { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: true })
    return { kind: 'ok', text: code }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, what = message, line, column] = /^(.*) \((\d+):(\d+)\)$/s.exec(message) ?? []
    if (line === undefined) return { kind: 'failed', message: what }
    return { kind: 'failed', message: what, line: Number(line), column: Number(column) }
  }
}
