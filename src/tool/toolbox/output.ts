import type { ToolOutput } from './kind.ts'

/** Characters of an output that a model is given at once. */
const mostCharacters = 50_000

/** An output with no more text than a model should be given at once; what is left out is said. */
export function cutOutput<Output extends ToolOutput>(output: Output): Output {
  const { text } = output
  if (text.length <= mostCharacters) return output
  const end = text.lastIndexOf('\n', mostCharacters)
  const kept = text.slice(0, end > mostCharacters / 2 ? end : mostCharacters)
  return { ...output, text: `${kept}\n[cut: ${text.length - kept.length} of ${text.length} characters are not shown]` }
}
