import { WorkerLimitError, runInWorker } from '../base/worker-task.ts'
import { BatonError, type SourcePlace } from '../base/error.ts'
import type { Json } from '../base/json.ts'
import { isSlowTemplate } from './slow-template.ts'
import { loadTemplates, type TemplateOptions } from './template.ts'

const timeMs = 20_000
const memoryMb = 512

/**
 * Renders a template as `RenderTemplate` does; a potentially slow one in a thread, for 20 seconds at most. `place`:
 * where the template starts.
 * @throws BatonError PROMPT_SYNTAX, or LIMIT if it takes too long or too much memory; the reason of the signal
 */
export async function renderTemplate(
  template: string,
  data: Json,
  { place, signal, ...options }: TemplateOptions & { readonly place: SourcePlace; readonly signal: AbortSignal },
): Promise<string> {
  if (!isSlowTemplate(template, data)) return renderHere(template, data, place, options)
  try {
    const task = { name: 'template.render', args: [template, data, place, options] }
    return (await runInWorker(task, { timeMs, memoryMb, signal })) as string
  } catch (error) {
    if (!(error instanceof WorkerLimitError)) throw error
    throw new BatonError('LIMIT', `the template cannot be rendered: ${error.message}`, {
      hint: 'Nested loops multiply: prepare the text in a script, and insert it as one value.',
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
