import { join } from 'node:path'
import type { RunFolders } from '../../../src/event/context.ts'
import type { EventBody } from '../../../src/event/event.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { finishSteps } from '../../../src/base/concurrency.ts'
import type { Place } from '../../../src/event/place.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { ActCall, HostCall } from '../../../src/script/host/call.ts'
import type { HostModule, Section } from '../../../src/script/host/module.ts'
import { createModuleReader } from '../../../src/script/module-reader.ts'
import { testContext } from '../../helpers/context.ts'
import { placeAt } from '../../helpers/effects.ts'

export interface HostSection {
  readonly section: Section
  readonly events: EventBody[]
  readonly records: readonly JournalRecord[]
  /** Calls a function of a module as Lua would, and returns its values. */
  readonly call: (module: HostModule, name: string, ...args: readonly LuaValue[]) => readonly LuaValue[]
  /** The same for functions that wait; returns the first value. */
  readonly wait: (module: HostModule, name: string, ...args: readonly LuaValue[]) => Promise<LuaValue>
}

export interface HostSectionOptions {
  readonly runAgent?: Section['runAgent']
  readonly now?: () => Date
  readonly stage?: Section['stage']
  /** Where commands run, and with what environment. */
  readonly surroundings?: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> }
  readonly folders?: Partial<RunFolders>
  readonly signal?: AbortSignal
}

const callAt = placeAt('call')

/** A section of an agent in this workspace, with the real permission and real effects over a journal in memory. */
export function hostSection(workspace: string, options: HostSectionOptions = {}): HostSection {
  const events: EventBody[] = []
  const { now = () => new Date(), surroundings = { cwd: workspace, env: {} }, folders, signal } = options
  const { records, scope, services } = testContext({
    workspace,
    ...(signal === undefined ? {} : { signal }),
    scope: {
      runId: 'run',
      at: placeAt('pre/0:agent/data'),
      folders: { workspace, cwd: surroundings.cwd, packRoots: [], ...folders },
    },
    services: { now, env: surroundings.env, events: (_, event) => events.push(event) },
  })
  const section: Section = {
    context: { scope, services },
    stage: options.stage ?? 'data',
    agentFile: join(workspace, 'agent.aip'),
    agentName: 'agent',
    findModule: createModuleReader(),
    runAgent: options.runAgent ?? (() => Promise.reject(new Error('no agent runs here'))),
  }
  const call: HostSection['call'] = (module, name, ...args) => {
    const values = callFunction({ module, name }, args, section)
    if (values instanceof Promise) throw new Error(`${name} waits`)
    return values
  }
  const wait: HostSection['wait'] = async (module, name, ...args) => {
    const values = callFunction({ module, name }, args, section)
    if (!(values instanceof Promise)) throw new Error(`${name} does not wait`)
    return (await values)[0]
  }
  return { section, events, records, call, wait }
}

/** Calls a function of a module as Lua would, at a place that the caller chooses. */
export function callFunction(
  { module, name }: { readonly module: HostModule; readonly name: string },
  args: readonly LuaValue[],
  section: Section,
  at: Place = callAt,
): readonly LuaValue[] | Promise<readonly LuaValue[]> {
  const definition = module.functions[name]
  if (definition === undefined) throw new Error(`there is no function ${name}`)
  const call = new ActCall(new HostCall(module.name === '' ? name : `${module.name}.${name}`, args, section), at)
  return 'steps' in definition ? finishSteps(definition.steps(call)) : definition.call(call)
}
