/**
 * How lines are compared, with growing tolerance (P-D8). `text`: as they are. `whitespace`: white space at both ends does
 * not count, and runs of it count as one blank. `letters`: nor do case and punctuation; lines of punctuation alone are
 * compared as they are. Lines with the same form are the same.
 */
export type Form = 'text' | 'whitespace' | 'letters'

/** A text in one of the forms. */
export function formOf(text: string, form: Form): string {
  switch (form) {
    case 'text':
      return text
    case 'whitespace':
      return text.trim().replaceAll(/\s+/g, ' ')
    case 'letters': {
      const letters = text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')
      return letters === '' ? formOf(text, 'whitespace') : letters
    }
  }
}
