import { createMeter } from '../../../src/event/meter.ts'
import { join } from 'node:path'
import type { RunContext } from '../../../src/event/context.ts'
import type { EventBody } from '../../../src/event/event.ts'
import { createMemoryEffects } from '../../../src/journal/memory.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import type { HostModule, Section } from '../../../src/script/host/module.ts'
import { createModuleReader } from '../../../src/script/module-reader.ts'
import { createPathPolicy } from '../../../src/tool/policy.ts'

export interface HostSection {
  readonly section: Section
  readonly events: EventBody[]
  readonly records: readonly JournalRecord[]
  /** Calls a function of a module as Lua would, and gives its values. */
  readonly call: (module: HostModule, name: string, ...args: readonly LuaValue[]) => readonly LuaValue[]
  /** The same for functions that wait; gives the first value. */
  readonly wait: (module: HostModule, name: string, ...args: readonly LuaValue[]) => Promise<LuaValue>
}

export interface HostSectionOptions {
  readonly runAgent?: Section['runAgent']
  readonly now?: () => Date
  readonly stage?: Section['stage']
  readonly surroundings?: RunContext['surroundings']
  readonly signal?: AbortSignal
}

/** A section of an agent in this workspace, with the real policy and real effects over a journal in memory. */
export function hostSection(workspace: string, options: HostSectionOptions = {}): HostSection {
  const events: EventBody[] = []
  const { records, ...effects } = createMemoryEffects()
  const section: Section = {
    context: {
      runId: 'run',
      at: ['pre', '0:agent', 'data'],
      signal: options.signal ?? new AbortController().signal,
      workspace,
      effects,
      policy: createPathPolicy({ workspace }),
      agents: { run: () => Promise.reject(new Error('no agent runs here')) },
      ancestors: [],
      options: {},
      meter: createMeter().add,
      events: (_, event) => events.push(event),
      now: options.now ?? (() => new Date()),
      ...(options.surroundings === undefined ? {} : { surroundings: options.surroundings }),
    },
    stage: options.stage ?? 'data',
    agentFile: join(workspace, 'agent.aip'),
    agentName: 'agent',
    options: {},
    findModule: createModuleReader(),
    runAgent: options.runAgent ?? (() => Promise.reject(new Error('no agent runs here'))),
  }
  const call: HostSection['call'] = (module, name, ...args) => {
    const definition = module.functions[name]
    if (definition === undefined) throw new Error(`there is no function ${name}`)
    const values =
      definition.effect === 'act' ? definition.call(args, section, ['call']) : definition.call(args, section)
    if (values instanceof Promise) throw new Error(`${name} waits`)
    return values
  }
  const wait: HostSection['wait'] = async (module, name, ...args) => {
    const definition = module.functions[name]
    if (definition?.effect !== 'act') throw new Error(`there is no function ${name} that waits`)
    return (await definition.call(args, section, ['call']))[0]
  }
  return { section, events, records, call, wait }
}
