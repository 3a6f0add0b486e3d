import { hostCallPlace } from '../event/effects.ts'
import type { HostFunction, LuaChunk, LuaValue } from './engine.ts'
import type { HostModule, ModuleFunction, Section } from './host/module.ts'
import { argumentsToJson } from './values.ts'

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
      return (args, { section, number }) =>
        section.context.effects.observe(
          hostCallPlace(section.context.at, number()),
          { name, args: argumentsToJson(args) },
          () => definition.call(args, section),
        )
    case 'act':
      return (args, { section, number }) => {
        const at = hostCallPlace(section.context.at, number())
        return section.context.effects.call(at, { name, args: argumentsToJson(args) }, () =>
          definition.call(args, section, at),
        )
      }
  }
}

function createCounter(): () => number {
  let next = 0
  return () => next++
}
