import { openCollab } from '../../src/team/collab/open.ts'
import type { AgentDefinition } from '../../src/event/agent.ts'
import type { CollabSettings } from '../../src/event/collab.ts'
import {
  type Asked,
  type Call,
  taskWorld,
  type TaskWorld,
  type TaskWorldOptions,
  usualDefinition,
} from './task-world.ts'

interface TeamWorldOptions extends Omit<TaskWorldOptions, 'within'> {
  readonly settings?: Partial<CollabSettings>
}

/**
 * A model that leads a team: real prompt files, a scripted model, a journal in memory. The first message of an agent
 * identifies it.
 */
export function teamWorld({ settings = {}, tools = ['todo'], ...options }: TeamWorldOptions): TaskWorld {
  return taskWorld({
    ...options,
    tools,
    within: (context, work) => work(openCollab({ ...teamSettings, ...settings }, context)),
  })
}

/** The settings of `[collab]` where a test gives no others. */
export const teamSettings: CollabSettings = {
  maxAgents: 6,
  maxDepth: 1,
  defaultWaitMs: 30_000,
  minWaitMs: 10,
  maxWaitMs: 300_000,
  returnWhen: 'all',
  onStall: 'tell',
  stallAfterMs: 120_000,
  roles: new Map([roleOf('default', ''), roleOf('worker', 'You work.')]),
}

function roleOf(name: string, instructions: string): readonly [string, AgentDefinition] {
  const text = `+++\ntools = ["todo"]\n+++\n${instructions}\n`
  return [
    name,
    {
      name,
      description: `the role ${name}`,
      origin: 'built-in',
      from: 'built-in',
      agent: { kind: 'prompt', name, file: `/roles/${name}.md`, text, defined: { sources: [], isTrusted: true } },
      ...usualDefinition,
      instructions,
    },
  ]
}

export const spawn = (message: string, more: object = {}): Call => ['spawn_agent', { message, ...more }]

/** Ids of the spawned agents, in the order in which the leader received them. */
export function agentsIn({ request }: Asked): readonly string[] {
  const texts = request.messages.flatMap(({ parts }) => parts.map((part) => JSON.stringify(part)))
  return texts.flatMap((text) => [...text.matchAll(/agent_id\\+":\\+"([0-9a-f-]{36})/g)].map(([, id]) => id ?? ''))
}
