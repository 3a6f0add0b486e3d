/** Words that say nothing about what a text is about. */
const commonWords = new Set(
  `a about all an and any are as at be by can could do does each every explain file files find for from give has have how
  i if in into is it its list make me my no not of on one only or our please show so some tell than that the their them
  then there these they this to use used using was we what when where which who why will with would write you your`.split(
    /\s+/,
  ),
)

/** The words of a text in lower case; `camelCase`, `snake_case` and `kebab-case` names also give their parts. */
export function wordsOf(text: string): string[] {
  const names = text.match(/[\p{L}\p{N}_]+/gu) ?? []
  return names.flatMap((name) => {
    const parts = name
      .split(/_|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u)
      .filter((part) => part !== '')
    return (parts.length > 1 ? [name, ...parts] : parts).map((part) => part.toLowerCase())
  })
}

/** A word in the form it is compared in: without a plural s. */
export function stem(word: string): string {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

/** What to search for: the words of the instruction that mean something, each once, at most 200. */
export function searchWords(instruction: string): string[] {
  const words = wordsOf(instruction).filter((word) => word.length > 1 && !commonWords.has(word))
  return [...new Set(words.map(stem))].slice(0, 200)
}
