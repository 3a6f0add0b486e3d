import type { AgentDefinition } from '../../event/agent.ts'
import type { Collab, Mail } from '../../event/collab.ts'
import { narrow, type RunContext, withScope, withServices } from '../../event/context.ts'
import type { ToolFilter } from '../../event/permission.ts'
import type { Place } from '../../event/place.ts'
import { heldTo } from '../subagents/calls.ts'
import { toolLayers, toolsThrough } from '../subagents/filter.ts'
import { tellKeptTools } from '../tools.ts'
import { createAgentWork } from './work.ts'
import type { JsonObject } from '../../base/json.ts'

/** A model's request to spawn an agent. */
export interface Spawning {
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
  const held = heldTo([named, ...layers], begun)
  const limited = onlyReads ? narrow(held, { write: false }) : held
  if (!team.members().some((member) => member.role === role)) {
    tellKeptTools({ tools: toolsThrough(offered.tools ?? [], layers.slice(0, 2)) }, role, context)
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
