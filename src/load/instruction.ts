import type { JsonObject } from '../base/json.ts'
import type { BatonError, SourcePlace } from '../base/error.ts'
import { suggestionHint } from '../settings/issue.ts'
import type { PromptDocument } from '../prompt/document.ts'
import { renderTemplate } from '../prompt/render-template.ts'
import { loadTemplates } from '../prompt/template.ts'
import type { ChainState } from '../stage/state.ts'

/**
 * Substitutes the author's own instruction once: a segment that equals the file byte for byte. Segments that agents
 * inserted or changed stay literal. `data` is `{ input, data: { files, task }, params }`.
 * @throws BatonError PROMPT_SYNTAX at the line of the file, or LIMIT; the reason of the signal
 */
export async function renderInstruction(
  state: ChainState,
  document: PromptDocument,
  data: JsonObject,
  signal: AbortSignal,
): Promise<ChainState> {
  if (!state.prompts.includes(document.instruction)) return state
  const rendered = await renderTemplate(document.instruction, data, { place: placeOf(document), signal })
  return { ...state, prompts: state.prompts.map((segment) => (segment === document.instruction ? rendered : segment)) }
}

/**
 * All errors of the instruction as a template, including names that its data never has: they would be empty in the
 * prompt. `variables` are those of `[input]`; undefined without such a table.
 */
export async function instructionProblems(
  document: PromptDocument,
  variables?: readonly string[],
): Promise<readonly BatonError[]> {
  const { problems } = await loadTemplates()
  return problems(document.instruction, placeOf(document), ({ parts }) => nameProblem(parts, variables))
}

/** The fields of the data that do not depend on the file. */
const fieldsOf: { readonly [path: string]: readonly string[] } = {
  '': ['input', 'data', 'params'],
  data: ['files', 'task'],
  'data.files': ['context', 'knowledge', 'structure', 'working'],
  'data.task': ['index', 'count', 'label', 'input'],
}

function nameProblem(
  parts: readonly string[],
  variables: readonly string[] | undefined,
): { readonly message: string; readonly hint: string } | undefined {
  const [root, variable] = parts
  if (root === 'input') {
    if (variable === undefined || variables === undefined || variables.includes(variable)) return undefined
    const hint = suggestionHint(variable, variables, `Declare it in the front matter: [input.${variable}].`)
    return { message: `there is no variable "${variable}"`, hint }
  }
  for (const [depth, name] of parts.entries()) {
    const above = parts.slice(0, depth).join('.')
    const known = fieldsOf[above]
    if (known === undefined) return undefined
    if (known.includes(name)) continue
    if (depth === 0 && variables?.includes(name) === true) {
      return { message: `there is no "${name}" in the data`, hint: `Write {{input.${name}}}: variables are in input.` }
    }
    const otherwise = `${above === '' ? 'The data has' : `${above} has`} ${known.join(', ')}; text with braces is written \\{{.`
    const where = above === '' ? 'the data' : above
    return { message: `there is no "${name}" in ${where}`, hint: suggestionHint(name, known, otherwise) }
  }
  return undefined
}

function placeOf({ file, text, instructionLine }: PromptDocument): SourcePlace {
  return { file, text, line: instructionLine }
}
