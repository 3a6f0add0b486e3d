import { emit } from '../../event/context.ts'
import { countShown, type HostCall, isTable, keyedTable, luaTypeName, text } from './call.ts'
import type { LuaValue } from '../engine.ts'
import { acting, type HostModule, several } from './module.ts'

/** `aip.run`: what is displayed about the run of this agent. */
export const runModule: HostModule = { name: 'aip.run', functions: pinFunctions('run') }

/** `aip.task`: what is displayed about the task that a section works on. */
export const taskModule: HostModule = { name: 'aip.task', functions: pinFunctions('task') }

type Scope = 'run' | 'task'

/** Both only emit events. */
function pinFunctions(scope: Scope): HostModule['functions'] {
  return {
    /**
     * `aip.run.pin(iden, priority?, content)`
     * `aip.task.pin(iden, priority?, content)` Shows a line about the run, or about this input; calling it again with
     * the same `iden` replaces the line. Lower priorities come first, nil last. `content` is a string or
     * `{label?, content?}`. `aip.task.pin` is an error in Before All and After All.
     */
    pin: acting((call) => {
      refuseOutsideTask(scope, call)
      const pin = readPin(call)
      countShown(call, pin.id + pin.label + pin.content)
      emit(call.context, { type: 'pin', scope, ...pin })
      return several()
    }),
    /**
     * `aip.run.set_label(label)`
     * `aip.task.set_label(label)`
     * Sets the displayed name of the run, or of this input. `aip.task.set_label` is an error in Before All and After
     * All.
     */
    set_label: acting((call) => {
      const [label] = call.args
      refuseOutsideTask(scope, call)
      if (typeof label !== 'string') throw call.error(`the label must be a string, but was ${luaTypeName(label)}`)
      countShown(call, label)
      emit(call.context, { type: 'label', scope, label })
      return several()
    }),
  }
}

/** In Before All and After All there is no task. */
function refuseOutsideTask(scope: Scope, call: HostCall): void {
  const { stage } = call.section
  if (scope === 'run' || (stage !== 'before_all' && stage !== 'after_all')) return
  const where = stage === 'before_all' ? 'Before All' : 'After All'
  throw call.error(`there is no task in ${where}; call ${call.name.replace('.task.', '.run.')} there`)
}

interface Pin {
  readonly id: string
  readonly priority: number | null
  readonly label: string
  readonly content: string
}

/** `(iden, content)` or `(iden, priority, content)`; a priority may be nil. */
function readPin(call: HostCall): Pin {
  const count = call.args.length
  if (count < 2 || count > 3) {
    throw call.error(`takes (iden, content) or (iden, priority, content), but got ${count} arguments`)
  }
  const [id] = call.args
  if (typeof id !== 'string') throw call.error(`iden must be a string, but was ${luaTypeName(id)}`)
  return { id, priority: count === 3 ? priorityOf(call) : null, ...contentOf(call) }
}

function priorityOf(call: HostCall): number | null {
  if (!call.has(1)) return null
  const [, value] = call.args
  const priority = typeof value === 'bigint' ? Number(value) : value
  if (typeof priority === 'number' && Number.isFinite(priority)) return priority
  throw call.error(`the priority must be a number, but was ${luaTypeName(value)}`)
}

function contentOf(call: HostCall): Pick<Pin, 'label' | 'content'> {
  const value = call.args.at(-1)
  if (!isTable(value)) {
    const content = typeof value === 'boolean' ? String(value) : text(value, call.name, 'the content')
    return { label: 'Pin:', content }
  }
  const { label, content } = keyedTable(value) ?? {}
  return { label: shown(label) ?? 'Pin:', content: shown(content) ?? 'No Content' }
}

/** The displayable text of a field; other values are ignored, because a pin is not worth an error. */
function shown(value: LuaValue): string | undefined {
  return ['string', 'number'].includes(luaTypeName(value)) ? text(value, 'pin', 'the field') : undefined
}
