/** How a line is compared: lines with the same form are the same. */
export type Form = (line: string) => string

/** How lines are compared, with growing tolerance (P-D8). */
export interface Forms {
  readonly exact: Form
  /** White space at both ends does not count, and runs of it count as one blank. */
  readonly whitespace: Form
  /** Nor do case and punctuation; lines of punctuation alone are compared as they are. */
  readonly letters: Form
}

/** The forms, each worked out once for a line: the same lines are looked at for every hunk. */
export function createForms(): Forms {
  const whitespace = remember((line) => line.trim().replaceAll(/\s+/g, ' '))
  return {
    exact: (line) => line,
    whitespace,
    letters: remember((line) => {
      const letters = line.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')
      return letters === '' ? whitespace(line) : letters
    }),
  }
}

function remember(form: Form): Form {
  const known = new Map<string, string>()
  return (line) => {
    const found = known.get(line)
    if (found !== undefined) return found
    const made = form(line)
    known.set(line, made)
    return made
  }
}
