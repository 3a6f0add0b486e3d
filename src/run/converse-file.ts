import type { AgentParts } from '../agent/parts.ts'
import { timeLimitOf, withTimeLimit } from '../agent/time-limit.ts'
import { defined } from '../base/json.ts'
import type { AgentSession, ModelAgent } from '../event/agent.ts'
import { below, narrow, type RunContext } from '../event/context.ts'
import type { Inbox } from '../event/inbox.ts'
import { part } from '../event/place.ts'
import type { FileAnswer, FileConversation } from '../event/sub-agents.ts'
import { createTargetLoader } from './child-run.ts'
import type { ChildSurroundings } from '../load/child-target.ts'
import { limitsOfTools } from '../load/limits.ts'
import type { PromptTarget } from '../load/prompt-target.ts'

/**
 * Returns the function that calls the model of a prompt file with the messages of a caller, with its settings, its
 * instructions and its tools, but without the rest of a run. Undefined if a run of the file does more than that.
 */
export function createFileConverser(surroundings: ChildSurroundings): NonNullable<AgentParts['converseWithFile']> {
  const load = createTargetLoader(surroundings)

  return async (request, context) => {
    const loaded = await load(request.agent, context)
    if (!isOnlyAsked(loaded)) return undefined
    const { asChild, childContext, childTimeMs } = await import('../load/child-target.ts')
    const { agent, options } = request
    // the output form and the tools of its caller do not apply to it
    const { mode: _, tools: _tools, ...around } = context.scope.options
    const inherited = { ...around, ...request.inherited }
    const target = asChild(loaded, agent, { options, inherited })
    const hasBudget = target.spec.frontMatter['budget'] !== undefined
    const child = narrow(childContext(target, context), limitsOfTools(target.settings))
    if (hasBudget) child.services.limitCost(child.scope.at, target.settings.budget)
    const time = timeLimitOf({ own: childTimeMs(target, options), whose: `agent "${agent.name}"` }, context)
    const answer = await withTimeLimit(time, child, (timed) => ask(request, target, timed))
    await passGate(target, child)
    return answer
  }
}

/** Its caller has given it a work tree, and takes the changes from there. */
async function passGate({ settings }: PromptTarget, context: RunContext): Promise<void> {
  const { dry, folders } = context.scope
  if (settings.gate === undefined || dry !== undefined || folders.standsFor === undefined) return
  const { gateOf, runGate } = await import('./isolation/isolated.ts')
  const gate = gateOf(settings)
  if (gate !== undefined) await runGate(gate, context)
}

/** Whether a run of the file would only call its model once. */
function isOnlyAsked({ spec, strategy, answerAgent }: PromptTarget): boolean {
  return (
    !spec.agents.some(({ enabled }) => enabled) &&
    answerAgent === undefined &&
    strategy === undefined &&
    spec.variables === undefined &&
    !givesFiles.some((key) => spec.frontMatter[key] !== undefined)
  )
}

const givesFiles = ['working_globs', 'context_globs', 'structure_globs', 'knowledge_globs', 'context_resources']

async function ask(request: FileConversation, target: PromptTarget, around: RunContext): Promise<FileAnswer> {
  const [{ mainAgent }, { giveTools, withTeam }, { chosenTools }] = await Promise.all([
    import('./main-agent.ts'),
    import('../team/tools.ts'),
    import('../tool/toolbox/choose-tools.ts'),
  ])
  const { agent, baseDir, maxTurns, messages, onOpen, inbox } = request
  const { settings, output, roles } = target
  const context = await withTeam(settings, roles, around)
  // a file that names no tools gets all that its caller allows
  const { tools = ['*'], disallowed_tools } = settings
  const named = { tools, disallowed_tools }
  const { allow = [], max_bytes: maxBytes } = settings.changes
  const options = { named, baseDir, limits: { allow, maxBytes } }
  const given = await giveTools(chosenTools(named, context), options, context)
  const model: ModelAgent = {
    ...mainAgent({ settings, output, usesOwnAliases: false }, given),
    name: agent.name,
    ...(await inboxOf([given.inbox, inbox])),
    ...leastTurns(settings.max_turns, maxTurns),
  }
  const session: AgentSession = await context.services.agents.open(model, below(context, part('ask')))
  onOpen?.(session)
  try {
    const instructions = await instructionsOf(target, context)
    const result = await session.answer(await session.send(messages(instructions)))
    const { work } = given.box
    return {
      end: result.end,
      text: result.text,
      messages: result.messages,
      changes: work.changes(),
      planned: work.planned(),
    }
  } finally {
    await session.close()
  }
}

/** That of its own team, and that of its caller. */
async function inboxOf(given: readonly (Inbox | undefined)[]): Promise<Pick<ModelAgent, 'inbox'>> {
  const [inbox, ...others] = given.filter((one) => one !== undefined)
  if (inbox === undefined || others.length === 0) return defined({ inbox })
  const { joinInboxes } = await import('../team/core/inboxes.ts')
  return { inbox: joinInboxes([inbox, ...others]) }
}

function leastTurns(...limits: readonly (number | undefined)[]): Pick<ModelAgent, 'maxTurns'> {
  const known = limits.filter((limit) => limit !== undefined)
  return known.length === 0 ? {} : { maxTurns: Math.min(...known) }
}

async function instructionsOf({ spec, settings }: PromptTarget, context: RunContext): Promise<string> {
  const { document, params } = spec
  if (!settings.template) return document.instruction.trim()
  const { renderInstruction } = await import('../load/instruction.ts')
  const state = { params, prompts: [document.instruction] }
  const { prompts } = await renderInstruction(state, document, { params }, context.services.signal)
  return prompts.join('\n\n').trim()
}
