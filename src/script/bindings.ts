import { stopsRun } from '../base/error.ts'
import { finishInTurns, finishSteps, type Steps } from '../base/concurrency.ts'
import { callPlace } from '../event/place.ts'
import { capture, captureAsync, unwrap, type WorkResult } from '../journal/work-result.ts'
import { type HostFunction, limitOf, type LuaChunk, type LuaValue } from './engine.ts'
import { ActCall, HostCall } from './host/call.ts'
import type { HostModule, ModuleFunction, Section } from './host/module.ts'
import { argumentsToJson, readingCall } from './values.ts'

type Values = readonly LuaValue[]

/**
 * The functions and the Lua parts of host modules, the same for all sections; only `bindFunctions` depends on the
 * section.
 */
export interface HostBindings {
  readonly functions: readonly UnboundFunction[]
  readonly chunks: readonly LuaChunk[]
}

interface UnboundFunction {
  readonly path: string
  readonly tables: HostFunction['tables']
  /** Whether waiting for it counts as work of this process or as waiting for something outside. */
  readonly waits: Waits
  readonly call: (args: readonly LuaValue[], caller: Caller) => ReturnType<HostFunction['call']>
}

type Waits = 'working' | 'outside'

interface Caller {
  readonly section: Section
  /** Number for the next host call of this section that observes or acts. */
  readonly number: () => number
}

/**
 * Prepares host modules once for all sections of a run. What a function declares decides how its calls are recorded.
 */
export function createBindings(modules: readonly HostModule[]): HostBindings {
  return {
    functions: modules.flatMap(({ name: prefix, functions }) =>
      Object.entries(functions).map(([name, definition]): UnboundFunction => {
        const path = prefix === '' ? name : `${prefix}.${name}`
        const waits = definition.effect === 'act' ? (definition.waits ?? 'working') : 'working'
        return { path, tables: definition.tables ?? 'border', waits, call: recorded(path, definition) }
      }),
    ),
    chunks: modules.flatMap(({ lua }) => lua ?? []),
  }
}

export interface BoundFunctions {
  readonly functions: HostFunction[]
  /** The error of a call that stops the section or the run, if any: the script may have caught it. */
  readonly stopped: () => { readonly error: unknown } | undefined
  /**
   * Settles when no call is in flight; the calls of a stopped section end with its signal. Undefined: no call is in
   * flight.
   */
  readonly ended: () => Promise<unknown> | undefined
}

/**
 * The functions as one section calls them. Calls that observe or act are numbered from 0 in the order they are made.
 * Once a call has thrown an error that stops the run, all later calls throw it as well.
 */
export function bindFunctions({ functions }: HostBindings, section: Section): BoundFunctions {
  let nextNumber = 0
  const caller: Caller = { section, number: () => nextNumber++ }
  let stopped: { readonly error: unknown } | undefined
  const underWay = new Set<Promise<Values>>()

  function noted(values: Promise<Values>): Promise<Values> {
    underWay.add(values)
    const isOver = (): void => void underWay.delete(values)
    values.then(isOver, isOver)
    return values
  }

  function refuseStopped(): void {
    if (stopped !== undefined) throw stopped.error
  }

  /** The time of a wait counts toward the time limit unless it is a wait for something outside. */
  function counted(values: Promise<Values>, waits: Waits): Promise<Values> {
    return section.computing?.clock[waits](values) ?? values
  }

  function failed(error: unknown): never {
    // the script cannot catch a limit that a host function has reached either
    if (stopsRun(error) || limitOf(error) !== undefined) stopped ??= { error }
    throw error
  }

  return {
    stopped: () => stopped,
    ended: () => (underWay.size === 0 ? undefined : Promise.allSettled(underWay)),
    functions: functions.map(({ path, tables, waits, call }) => ({
      path,
      tables,
      call(args) {
        refuseStopped()
        try {
          const values = call(args, caller)
          return values instanceof Promise ? counted(noted(values), waits).catch(failed) : values
        } catch (error) {
          return failed(error)
        }
      },
    })),
  }
}

function recorded(name: string, definition: ModuleFunction): UnboundFunction['call'] {
  switch (definition.effect) {
    case 'pure':
      return (args, { section }) => {
        const call = (isSlow: boolean): Values | Promise<Values> =>
          isSlow
            ? import('./host/worker-call.ts').then(({ callInWorker }) => callInWorker(name, args, section))
            : definition.call(new HostCall(name, args, section))
        const isSlow = definition.isSlow?.(args) ?? false
        return isSlow instanceof Promise ? isSlow.then(call) : call(isSlow)
      }
    case 'observe':
      return (args, { section, number }) => {
        const { effects, signal } = section.context.services
        const at = callPlace(section.context.scope.at, number())
        const call = new HostCall(name, args, section)
        if ('call' in definition) {
          const asked = definition.readsFile === true ? readingCall(name, args) : { name, args: argumentsToJson(args) }
          return effects.observe(at, asked, () => definition.call(call))
        }
        const asked = { name, args: argumentsToJson(args) }
        if (effects.answers(at)) return effects.observe(at, asked, () => finishSteps(definition.steps(call)))
        const read = capture(() => finishInTurns(clocked(definition.steps(call), section), signal))
        if (read.status === 'failed' || !(read.value instanceof Promise)) {
          return effects.observe(at, asked, () => unwrap(read as WorkResult<Values>))
        }
        return later(read.value, (result) => effects.observe(at, asked, () => unwrap(result)), signal)
      }
    case 'act':
      return (args, { section, number }) => {
        const { effects } = section.context.services
        const call = new ActCall(new HostCall(name, args, section), callPlace(section.context.scope.at, number()))
        return effects.call(call.at, { name, args: argumentsToJson(args) }, () => definition.call(call))
      }
  }
}

/** Records what was read in turns as an observation. A read that was stopped is not recorded. */
async function later(
  reading: Promise<Values>,
  observe: (result: WorkResult<Values>) => Values,
  signal: AbortSignal,
): Promise<Values> {
  const result = await captureAsync(() => reading)
  signal.throwIfAborted()
  if (result.status === 'failed' && limitOf(result.error) !== undefined) throw result.error
  return observe(result)
}

/** Steps of a listing between two checks of the clock; they take a few milliseconds. */
const stepsAtOnce = 500

/** The same steps, stopped when the section's time is up. */
function* clocked<T>(steps: Steps<T>, { computing }: Section): Steps<T> {
  for (let count = 1; ; count += 1) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (count % stepsAtOnce === 0) computing?.clock.check()
    yield
  }
}
