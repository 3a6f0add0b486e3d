import { ApartLimit, runApart } from '../base/apart.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { isSlowTemplate } from './slow-template.ts'
import { loadTemplates, type TemplateOptions } from './template.ts'

const timeMs = 20_000
const memoryMb = 512

/**
 * Fills in a template as `RenderTemplate` does; one that may take long in a thread, for 20 seconds at most. `place`: where
 * the template begins.
 * @throws BatonError PROMPT_SYNTAX, or LIMIT when it takes too long or too much memory; the reason of the signal
 */
export async function renderTemplate(
  template: string,
  data: Json,
  { place, signal, ...options }: TemplateOptions & { readonly place: SourcePlace; readonly signal: AbortSignal },
): Promise<string> {
  if (!isSlowTemplate(template, data)) return renderHere(template, data, place, options)
  try {
    const task = { name: 'template.render', args: [template, data, place, options] }
    return (await runApart(task, { timeMs, memoryMb, signal })) as string
  } catch (error) {
    if (!(error instanceof ApartLimit)) throw error
    throw new BatonError('LIMIT', `the template cannot be filled in: ${error.message}`, {
      hint: 'Loops in loops multiply: prepare the text in a script, and insert it as one value.',
      place,
    })
  }
}

/** In this thread. */
export async function renderHere(
  template: string,
  data: Json,
  place: SourcePlace,
  options: TemplateOptions,
): Promise<string> {
  return (await loadTemplates(options)).render(template, data, place)
}
