import { emit } from '../../event/context.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, isTable, luaTypeName, optionsTable, text, textOption } from './arguments.ts'
import type { ModuleFunction, Section } from './module.ts'

type Scope = 'run' | 'task'

/**
 * `pin` and `set_label` of `aip.run` and `aip.task` (spec/aipack.md 6.2). They only send events; in Before All and After
 * All there is no task.
 */
export function pinFunctions(scope: Scope): { readonly [name: string]: ModuleFunction } {
  return {
    /**
     * `aip.run.pin(iden, priority?, content)`
     * `aip.task.pin(iden, priority?, content)`
     * Shows a line about the run, or about this input, until it is shown anew with the same `iden`. Lower priorities
     * stand first, nil last. `content` is a text or `{label?, content}`. `aip.task.pin` is an error in Before All and
     * After All.
     */
    pin: {
      effect: 'act',
      call: (args, section) => {
        const name = `aip.${scope}.pin`
        refuseOutsideTask(scope, name, section)
        emit(section.context, { type: 'pin', scope, ...readPin(args, name) })
        return []
      },
    },
    /**
     * `aip.run.set_label(label)`
     * `aip.task.set_label(label)`
     * Names the run, or this input, in what is shown. `aip.task.set_label` is an error in Before All and After All.
     */
    set_label: {
      effect: 'act',
      call: ([label], section) => {
        const name = `aip.${scope}.set_label`
        refuseOutsideTask(scope, name, section)
        if (typeof label !== 'string') {
          throw argumentError(name, `the label must be a string, but was ${luaTypeName(label)}`)
        }
        emit(section.context, { type: 'label', scope, label })
        return []
      },
    },
  }
}

function refuseOutsideTask(scope: Scope, name: string, { stage }: Section): void {
  if (scope === 'run' || (stage !== 'before_all' && stage !== 'after_all')) return
  const where = stage === 'before_all' ? 'Before All' : 'After All'
  throw argumentError(name, `there is no task in ${where}; call ${name.replace('.task.', '.run.')} there`)
}

interface Pin {
  readonly id: string
  readonly priority: number | null
  readonly label: string
  readonly content: string
}

/** `(iden, content)` or `(iden, priority, content)`; a priority may be nil. */
function readPin(args: readonly LuaValue[], name: string): Pin {
  if (args.length < 2 || args.length > 3) {
    throw argumentError(name, `takes (iden, content) or (iden, priority, content), but got ${args.length} arguments`)
  }
  const [id] = args
  if (typeof id !== 'string') throw argumentError(name, `iden must be a string, but was ${luaTypeName(id)}`)
  return { id, priority: args.length === 3 ? priorityOf(args[1], name) : null, ...contentOf(args.at(-1), name) }
}

function priorityOf(value: LuaValue, name: string): number | null {
  if (value === undefined || value === null) return null
  const priority = typeof value === 'bigint' ? Number(value) : value
  if (typeof priority === 'number' && Number.isFinite(priority)) return priority
  throw argumentError(name, `the priority must be a number, but was ${luaTypeName(value)}`)
}

function contentOf(value: LuaValue, name: string): Pick<Pin, 'label' | 'content'> {
  if (!isTable(value)) {
    const shown = typeof value === 'boolean' ? String(value) : text(value, name, 'the content')
    return { label: 'Pin:', content: shown }
  }
  const table = optionsTable(value, name)
  const label = textOption(table, 'label', name) ?? 'Pin:'
  return { label, content: text(table['content'], name, 'content in the table') }
}
