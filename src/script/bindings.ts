import { finishInTurns } from '../base/steps.ts'
import { hostCallPlace } from '../event/effects.ts'
import { attempt, attemptAsync, passOn, type Attempt } from '../journal/attempt.ts'
import type { HostFunction, LuaChunk, LuaValue } from './engine.ts'
import type { HostModule, ModuleFunction, Section } from './host/module.ts'
import { argumentsToJson } from './values.ts'

type Values = readonly LuaValue[]

/** The functions and the Lua parts of host modules, the same for every section; only `bindFunctions` knows the section. */
export interface HostBindings {
  readonly functions: readonly UnboundFunction[]
  readonly chunks: readonly LuaChunk[]
}

interface UnboundFunction {
  readonly path: string
  readonly tables: HostFunction['tables']
  readonly call: (args: readonly LuaValue[], caller: Caller) => ReturnType<HostFunction['call']>
}

interface Caller {
  readonly section: Section
  /** Number of the next host call of this section that observes or acts. */
  readonly number: () => number
}

/** Prepares host modules, once for all sections of a run: what their functions declare decides how a call is recorded. */
export function createBindings(modules: readonly HostModule[]): HostBindings {
  return {
    functions: modules.flatMap(({ name: prefix, functions }) =>
      Object.entries(functions).map(([name, definition]): UnboundFunction => {
        const path = prefix === '' ? name : `${prefix}.${name}`
        return { path, tables: definition.tables ?? 'border', call: recorded(path, definition) }
      }),
    ),
    chunks: modules.flatMap(({ lua }) => lua ?? []),
  }
}

/** The functions as one section calls them. Calls that observe or act are numbered from 0 in the order they are made. */
export function bindFunctions({ functions }: HostBindings, section: Section): HostFunction[] {
  const caller: Caller = { section, number: createCounter() }
  return functions.map(({ path, tables, call }) => ({ path, tables, call: (args) => call(args, caller) }))
}

function recorded(name: string, definition: ModuleFunction): UnboundFunction['call'] {
  switch (definition.effect) {
    case 'pure':
      return (args, { section }) => definition.call(args, section)
    case 'observe':
      return (args, { section, number }) => {
        const { effects, at: place, signal } = section.context
        const at = hostCallPlace(place, number())
        const call = { name, args: argumentsToJson(args) }
        const { steps } = definition
        if (steps === undefined || effects.answers?.(at) === true) {
          return effects.observe(at, call, () => definition.call(args, section))
        }
        const read = attempt(() => finishInTurns(steps(args, section), signal))
        if (read.status === 'failed' || !(read.value instanceof Promise)) {
          return effects.observe(at, call, () => passOn(read as Attempt<Values>))
        }
        return later(read.value, (result) => effects.observe(at, call, () => passOn(result)), signal)
      }
    case 'act':
      return (args, { section, number }) => {
        const at = hostCallPlace(section.context.at, number())
        return section.context.effects.call(at, { name, args: argumentsToJson(args) }, () =>
          definition.call(args, section, at),
        )
      }
  }
}

/** Observes what was read in turns. What was stopped is no observation. */
async function later(
  reading: Promise<Values>,
  observe: (result: Attempt<Values>) => Values,
  signal: AbortSignal,
): Promise<Values> {
  const result = await attemptAsync(() => reading)
  signal.throwIfAborted()
  return observe(result)
}

function createCounter(): () => number {
  let next = 0
  return () => next++
}
