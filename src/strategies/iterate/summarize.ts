import { requestFor } from '../../agent/prompt-agent.ts'
import { callPromptInput } from '../../agent/prompt-input.ts'
import { valueOfScript } from '../../agent/failed-input.ts'
import { messageOf, stopsRun } from '../../base/error.ts'
import { defined } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { textMessage } from '../../event/message.ts'
import { nothingSpent, type Spent } from '../../event/meter.ts'
import type { Iteration } from './load.ts'
import { filesSummary, type IterationOutcome, summaryQuestion, usableSummary } from './summary.ts'

export interface Summary {
  readonly text: string
  /** Text for the subject of the commit; undefined: the default. */
  readonly subject?: string
  readonly spent: Spent
}

interface Summarized extends IterationOutcome {
  readonly task: string
  readonly answers: readonly string[]
}

/**
 * Summarizes an iteration (R75): by its files, by a model, or by an agent. If the latter two fail, or answer nothing or
 * too much, the summary of files is used.
 */
export async function summarize(
  done: Summarized,
  { settings: { summarizer: kind }, summarizer }: Pick<Iteration, 'settings' | 'summarizer'>,
  settings: Settings,
  context: RunContext,
): Promise<Summary> {
  const byFiles = { text: filesSummary(done), spent: nothingSpent }
  if (kind === 'files' || context.scope.dry !== undefined) return byFiles
  const { services, scope } = context
  let why = 'the answer was empty or too long'
  const { value: text, spent } = await services.meter.measure(scope.at, async () => {
    try {
      return usableSummary(await asked(done, { summarizer, settings }, context))
    } catch (error) {
      services.signal.throwIfAborted()
      if (stopsRun(error)) throw error
      why = messageOf(error)
      return undefined
    }
  })
  if (text !== undefined) return { text, subject: firstSentence(text), spent }
  emit(context, { type: 'warning', message: `the summary of iteration ${done.iteration} only lists its files: ${why}` })
  return { ...byFiles, spent }
}

async function asked(
  done: Summarized,
  { summarizer, settings }: { readonly summarizer: Iteration['summarizer']; readonly settings: Settings },
  context: RunContext,
): Promise<string> {
  const { agents } = context.services
  if (summarizer === undefined) {
    const { model, reasoning_effort, fallback_models: fallbackModels } = settings
    const agent = {
      kind: 'llm',
      name: 'summarizer',
      settings: defined({ model, reasoning_effort }),
      fallbackModels,
    } as const
    const messages = [textMessage('user', summaryQuestion(done, done))]
    return (await agents.run({ kind: 'model', agent, messages }, context)).text
  }
  const { iteration, success, files, task, answers } = done
  const input = { iteration, success, files: [...files], task, answers: [...answers] }
  const request = requestFor({ agent: summarizer, inputs: [input], options: {} }, () => callPromptInput(input))
  const result = await agents.run(request, context)
  if (result.kind === 'prompt') return result.end === 'done' ? result.text : ''
  const value = valueOfScript(result)
  return typeof value === 'string' ? value : ''
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/.exec(text)?.[0].replace(/\.$/, '') ?? text
}
