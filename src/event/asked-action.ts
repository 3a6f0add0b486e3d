import type { Json } from '../base/json.ts'
import type { Action } from './permission.ts'

/** What a person is asked about, for people and programs: a call of a tool, or what would be one. */
export interface AskedAction {
  readonly tool: string
  readonly input: Json
  /** What would change, as a unified diff. */
  readonly diff?: string
}

/** A question that waits for its answer. */
export interface ApprovalView extends AskedAction {
  /** Its number in the run: what `baton approve` takes. */
  readonly id: string
  /** Of what is asked about. */
  readonly place: string
  /** ISO 8601, UTC: when it was first put, and until when an answer counts. */
  readonly asked: string
  readonly until?: string
}

/** An action as it is shown: of those that are no calls of tools their kind and what they are about. */
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
