/** A word as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w./@:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
