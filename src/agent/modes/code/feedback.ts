import { modelText } from '../../../base/model-text.ts'
import { cutText } from '../../../base/cut-text.ts'
import type { ProgramEnd } from '../../../script/javascript/program.ts'

/** Characters of each part of the feedback to the model. */
const mostCharacters = 50_000

/** The feedback to the model about its program: the logs and the result. */
export function feedbackText(logs: readonly string[], end: ProgramEnd): string {
  const told = logs.length === 0 ? [] : [cutText(modelText`Logs:\n${logs.join('\n')}`, mostCharacters)]
  return [...told, endText(end)].join('\n\n')
}

/** `Execution error: …` with its position, or `Execution result: …` as JSON. */
function endText(end: ProgramEnd): string {
  if (end.kind === 'error') return modelText`Execution error: ${errorText(end)}`
  return cutText(modelText`Execution result: ${JSON.stringify(end.value)}`, mostCharacters)
}

export function errorText({ message, line, column }: Extract<ProgramEnd, { readonly kind: 'error' }>): string {
  const place =
    line === undefined ? '' : modelText` (line ${line}${column === undefined ? '' : modelText`, column ${column}`})`
  return `${cutText(message, mostCharacters)}${place}`
}
