import { modelText } from '../../base/model-text.ts'
import { placeText, callPlace } from '../../event/place.ts'
import { defineTool, type ToolKind } from '../../tool/toolbox/kind.ts'
import { itemLine, openItems } from './items.ts'
import type { TeamState } from './state.ts'
import type { TeamStore } from './store.ts'

/** The progress of a team (R143). */
export type Progress = { readonly completed_tasks: number; readonly total_tasks: number }

export function progressOf({ items }: TeamState): Progress {
  return { completed_tasks: items.length - openItems(items).length, total_tasks: items.length }
}

export interface Leaving {
  readonly store: TeamStore
  /** Called in each process that learns that the leader has left. */
  readonly onLeft: (progress: Progress) => Promise<void>
}

type Decision = { readonly left: Progress } | { readonly refused: string }

/** The tool that ends delegate mode; with open items only if forced (R136, TV36). */
export function leaveKind({ store, onLeft }: Leaving): ToolKind {
  return defineTool<{ readonly force?: boolean }>({
    name: 'leave_delegate',
    description: modelText`End delegate mode and close all workers. Refused while items are open, unless force is true. Write your report afterwards.`,
    parameters: {
      type: 'object',
      properties: { force: { type: 'boolean', description: modelText`Leave even if items are open.` } },
      required: [],
      additionalProperties: false,
    },
    // its consequences must happen in each process of the run
    callsOthers: true,
    async run({ force = false }, { context, at }) {
      const place = callPlace(at, 0)
      const asked = { name: 'leave_delegate', args: { force } }
      const decision = await context.services.effects.observeAsync<Decision>(place, asked, () =>
        store.act({ place: placeText(place), name: asked.name, args: asked.args }, (state) => decide(state, force)),
      )
      if ('refused' in decision) return { text: decision.refused, isError: true }
      await onLeft(decision.left)
      const { completed_tasks: done, total_tasks: all } = decision.left
      return { text: modelText`You have left delegate mode: ${done} of ${all} items are completed.` }
    },
  })
}

function decide(state: TeamState, force: boolean): { readonly state: TeamState; readonly result: Decision } {
  const left = progressOf(state)
  const open = openItems(state.items)
  if (open.length === 0 || force) return { state: { ...state, hasLeft: true }, result: { left } }
  const lines = open.map(itemLine).join('\n')
  const refused = modelText`${left.completed_tasks} of ${left.total_tasks} items are completed. Still open:\n${lines}\nLet workers complete them, or leave with force.`
  return { state, result: { refused } }
}
