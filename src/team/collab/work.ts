import { defined, type JsonObject } from '../../base/json.ts'
import { type AgentWork, type Collab, leaderId, type Mail, type PieceEnd } from '../../event/collab.ts'
import type { AgentDefinition } from '../../event/agent.ts'
import { narrow, type RunContext, withScope, withServices } from '../../event/context.ts'
import type { Message } from '../../event/message.ts'
import { callPlace, item, part, type Place } from '../../event/place.ts'
import { recordedInbox } from '../core/inboxes.ts'
import { liveChild, stopWaiting } from '../core/life.ts'
import { type ChildEnd, notWorking, type Order } from '../core/order.ts'
import { limitedText } from '../core/texts.ts'
import { watchProgress } from '../core/stalls.ts'
import { mailText, nameOf } from '../core/member.ts'
import type { ToolFilter } from '../../event/permission.ts'
import { limitTools } from '../core/children.ts'
import { toolLayers, toolsThrough } from '../core/tool-filters.ts'
import { warnOfWithheldTools } from '../../agent/tool-names.ts'

/** A model's request to spawn an agent. */
interface Spawning {
  readonly id: string
  readonly role: string
  /** In a few words, for users. */
  readonly description: string
  readonly message: Mail
  /** The place of the spawning call. */
  readonly place: Place
  readonly inherited: JsonObject
  /** Absolute. */
  readonly baseDir: string
  /** The tools of the spawner. */
  readonly named: ToolFilter
  /** The spawner is in plan mode. */
  readonly onlyReads: boolean
}

/** Adds an agent to the team. It gets no right that the context does not have. */
export function spawnAgent(spawning: Spawning, offered: AgentDefinition, { collab, context }: Spawner): void {
  const { id, role, description, message, place, inherited, baseDir, named, onlyReads } = spawning
  const { team, self, signal } = collab
  const tools = offered.tools ?? named.tools ?? []
  const layers = toolLayers({ ...offered, tools }, { isBackground: false, onlyReads, leads: true })
  const at: Place = [...place, { kind: 'agent', name: role }]
  const { permission } = context.services
  const inTeam = self.depth === 0 ? context : withServices(context, { effects: collab.effects.under(permission) })
  const begun = withScope(inTeam, { at })
  const held = limitTools([named, ...layers], begun)
  const limited = onlyReads ? narrow(held, { write: false }) : held
  if (!team.members().some((member) => member.role === role)) {
    warnOfWithheldTools({ tools: toolsThrough(offered.tools ?? [], layers.slice(0, 2)) }, role, context)
  }
  const own = withServices(limited, { signal: AbortSignal.any([signal, team.abandoned]) })
  const order = { id, parent: self.id, depth: self.depth + 1, role, offered, description, inherited, baseDir }
  const { parent, depth } = order
  team.spawn({ id, parent, depth, role, message, work: createAgentWork(order, collab, own) })
}

interface Spawner {
  readonly collab: Collab
  /** Of the call. */
  readonly context: RunContext
}

/** A spawned agent. */
interface AgentOrder {
  /** A UUID. */
  readonly id: string
  readonly parent: string
  readonly role: string
  readonly depth: number
  readonly offered: AgentDefinition
  /** In a few words, for users. */
  readonly description: string
  readonly inherited: JsonObject
  /** Absolute. */
  readonly baseDir: string
}

/**
 * The durable life of an agent at the place of the context: a series of pieces, one for each input, each a boundary at
 * `input/<number>` below. The messages that start a piece are recorded before it, so that a resumed run starts it with
 * the same ones. Each piece starts with the conversation so far. See docs/design/collab.md.
 */
function createAgentWork(agent: AgentOrder, collab: Collab, context: RunContext): AgentWork {
  const { team, settings, budget } = collab
  const { id, parent, depth, offered } = agent
  const { at } = context.scope
  const { effects } = context.services
  const inbox = team.inboxOf(id)
  let pieces = 0
  let isReplay = false
  let isClosed = false
  /** The whole conversation so far. */
  let before: readonly Message[] = []
  let session: ChildEnd['session']
  /** Prompts of pieces that ended before their conversation started. */
  let unsaid: readonly string[] = []
  let current: { readonly order: Order; readonly context: RunContext } | undefined
  let working = notWorking

  function nextPiece(mail: readonly Mail[]): { readonly order: Order; readonly context: RunContext } {
    const own = withScope(context, { at: [...at, part('input'), item(pieces)] })
    const inTeam = withServices(own, { collab: { ...collab, self: { id, depth } } })
    const told = mail.map((one) => mailText(one, agent, nameOf(one.from, roleOf(one.from))))
    const texts = pieces === 0 && depth < settings.maxDepth ? [...told, introduction] : told
    const order: Order = {
      id,
      offered,
      description: agent.description,
      prompt: [...unsaid, ...texts].join('\n\n'),
      isBackground: true,
      before,
      ...defined({ session, maxTurns: offered.maxTurns }),
      ...(before.length === 0 && session === undefined ? {} : { resumes: id }),
      inherited: agent.inherited,
      baseDir: agent.baseDir,
      among: sharers() + 1,
      startsAgents: depth < settings.maxDepth,
      limits: () => budget.lend(id, sharers(), parent),
      measuring: 'alone',
      inbox: (inner) => recordedInbox(inbox, withScope(inner, own.scope)),
    }
    pieces += 1
    return { order, context: watchProgress({ team, id }, inTeam) }
  }

  const introduction = `[You are agent ${id}. You got this work from ${parent === leaderId ? `the leader, ${leaderId}` : parent}; use send_input to reach it.]`

  function roleOf(of: string): string | undefined {
    return team.members().find((member) => member.id === of)?.role
  }

  /** How many agents share what is left of a budget. */
  function sharers(): number {
    const open = team.members().filter(({ status }) => typeof status === 'string' && status !== 'shutdown').length
    return Math.max(1, Math.min(open, settings.maxAgents))
  }

  /** Takes over the end of a piece for the next piece, and returns it for the team. */
  function ended({ order }: { readonly order: Order }, end: ChildEnd): PieceEnd {
    budget.settle(id, end.spent)
    inbox.know(end.told ?? [])
    isClosed ||= end.isClosed === true
    session = end.session ?? session
    const hasSaid = end.messages !== undefined || end.session !== undefined
    unsaid = hasSaid || end.status === 'done' ? [] : [order.prompt]
    before = end.messages ?? before
    switch (end.status) {
      case 'done': {
        const text = limitedText(end)
        return { kind: 'completed', text: text === '' ? null : text }
      }
      case 'failed':
        return { kind: 'errored', message: end.error?.message ?? 'unknown error' }
      case 'stopped':
        return { kind: 'stopped' }
    }
  }

  return {
    async begin(arrive) {
      if (isClosed) return undefined
      let hasArrived = false
      const arrival = async (): Promise<readonly Mail[] | null> => {
        hasArrived = true
        return forJson(await arrive())
      }
      // in a replay it is unknown whether another piece follows; an arriving message shows that one does
      if (isReplay && (await arrival()) === null) return undefined
      const asked = { name: 'mail', args: null }
      const told = await effects.observeAsync(callPlace([...at, part('input')], pieces), asked, arrival)
      // the resumed run closes the agent again; its status must be published for that
      if (told === null && !hasArrived) await arrive()
      return told ?? undefined
    },
    async piece(mail, { stop, live }) {
      current = nextPiece(mail)
      working = notWorking
      try {
        const onReplay = (): void => void (isReplay = true)
        const end = await liveChild(current.order, {
          context: current.context,
          stop,
          live,
          onReplay,
          onBegin: (begun) => (working = begun),
        })
        return ended(current, end)
      } catch (error) {
        budget.release(id)
        throw error
      }
    },
    async withdraw() {
      if (current !== undefined) ended(current, await stopWaiting(current.order, current.context, working))
    },
  }
}

/** Null: the agent was closed. */
function forJson(mail: readonly Mail[] | undefined): readonly Mail[] | null {
  return mail === undefined ? null : [...mail]
}
