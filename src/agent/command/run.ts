import { defined, type Json } from '../../base/json.ts'
import { BatonError } from '../../base/error.ts'
import type { CommandAgent, CommandSession, PromptInput, PromptRequest, PromptResult } from '../../event/agent.ts'
import { below, emit, type RunContext, withServices } from '../../event/context.ts'
import { sectionInputWithoutLimits } from '../../event/limits.ts'
import { nothingSpent } from '../../event/meter.ts'
import { task } from '../../event/place.ts'
import { mapSiblings } from '../../base/concurrency.ts'
import { askCommand, type CommandAnswer, type CommandQuestion } from './ask.ts'
import { type CommandOptions, commandOptions } from './options.ts'
import type { Pricing } from './program-cost.ts'

/** Default number of programs that one request runs at the same time. */
const defaultAtOnce = 4

/**
 * Runs a command line as an agent, once for each input, several at the same time.
 * @throws BatonError as of `askCommand`, CONFIG_INVALID for invalid options
 */
export async function runCommandAgent(
  { agent, inputs, options, session, onSession }: PromptRequest<CommandAgent>,
  context: RunContext,
  parts: Pricing,
): Promise<PromptResult> {
  const { scope, services } = context
  const read = commandOptions(agent, options)
  const skipped = skippedInDryRun(agent, context)
  if (skipped !== undefined) return { kind: 'prompt', end: 'skipped', reason: skipped, spent: nothingSpent }
  const { input_concurrency: atOnce } = scope.options
  const limit = typeof atOnce === 'number' ? atOnce : defaultAtOnce
  let left: CommandSession | undefined
  const { value: texts, spent } = await services.meter.measure(scope.at, () =>
    mapSiblings(inputs, { limit, signal: services.signal }, async (given, index, signal) => {
      const at = withServices(context, { signal })
      if (inputs.length === 1) {
        const answer = await runOnce({ agent, given, read, session, onSession }, at, parts)
        left = answer.session
        return answer.text
      }
      const place = below(at, task(index))
      const work = async (): Promise<string> => (await runOnce({ agent, given, read }, place, parts)).text
      return services.effects.boundary(place.scope.at, work, {
        inputs: sectionInputWithoutLimits({ given, options, agent: agent.text }),
      })
    }),
  )
  return {
    kind: 'prompt',
    end: 'done',
    text: texts.join('\n\n'),
    outputs: texts as readonly Json[],
    value: undefined,
    spent,
    ...defined({ session: left }),
  }
}

interface Once {
  readonly agent: CommandAgent
  readonly given: PromptInput
  readonly read: CommandOptions
  readonly session?: CommandSession | undefined
  readonly onSession?: CommandQuestion['onSession']
}

async function runOnce(
  { agent, given, read, session, onSession }: Once,
  context: RunContext,
  parts: Pricing,
): Promise<CommandAnswer> {
  if (agent.line.preset !== undefined && given.text.trim() === '') {
    const hint = 'Give it an instruction, or an input.'
    throw new BatonError('AGENT_FAILED', `agent "${agent.name}" has nothing to do: its prompt is empty`, { hint })
  }
  return askCommand({ agent, prompt: given.text, session, onSession, ...read }, context, parts)
}

/** The reason for skipping it in a dry run: a program without a read-only mode would really do its work. */
function skippedInDryRun({ name, line }: CommandAgent, context: RunContext): string | undefined {
  const { dry } = context.scope
  if (dry === undefined || (dry !== 'req' && line.preset !== undefined)) return undefined
  emit(context, { type: 'warning', message: `a dry run skips ${name}, so later results may differ` })
  return 'a dry run does not start it'
}
