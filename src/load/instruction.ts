import type { JsonObject } from '../base/json.ts'
import type { BatonError, SourcePlace } from '../base/error.ts'
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

/** All errors of the instruction as a template. */
export async function instructionProblems(document: PromptDocument): Promise<readonly BatonError[]> {
  const { problems } = await loadTemplates()
  return problems(document.instruction, placeOf(document))
}

function placeOf({ file, text, instructionLine }: PromptDocument): SourcePlace {
  return { file, text, line: instructionLine }
}
