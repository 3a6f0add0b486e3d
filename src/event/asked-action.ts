import type { Json } from '../base/json.ts'
import type { Action } from './permission.ts'

/** An action that needs approval, for display and for programs: a tool call, or its equivalent. */
export interface AskedAction {
  readonly tool: string
  readonly input: Json
  /** The change to be made, as a unified diff. */
  readonly diff?: string
}

/** A question that is waiting for an answer. */
export interface ApprovalView extends AskedAction {
  /** Its number in the run, as used by `baton approve`. */
  readonly id: string
  /** The place of the action. */
  readonly place: string
  /** ISO 8601, UTC: when it was first asked, and until when it can be answered. */
  readonly asked: string
  readonly until?: string
}

/** The displayed form of an action; if it is not a tool call, its kind and its subject. */
export function askedAction(action: Action): AskedAction {
  switch (action.kind) {
    case 'read':
    case 'write':
    case 'delete': {
      const { kind: tool, shown, named, diff } = action
      return { tool, input: { path: shown ?? named }, ...(diff === undefined ? {} : { diff }) }
    }
    case 'command':
      return { tool: action.kind, input: { program: action.program } }
    case 'connect':
      return { tool: action.kind, input: { url: action.url } }
    case 'model':
      return { tool: action.kind, input: { model: action.label } }
    case 'mcp':
      return { tool: action.kind, input: { server: action.server, what: action.what } }
    case 'tool': {
      const { tool, input, diff } = action
      return { tool, input, ...(diff === undefined ? {} : { diff }) }
    }
  }
}
