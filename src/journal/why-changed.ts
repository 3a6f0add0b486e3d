import { isObject, type Json } from '../base/json.ts'
import type { AskedCall, EffectKind } from '../event/effects.ts'
import { callText } from './same-call.ts'

/** Why a part is always done again that has an effect of a kind. */
export const always: { readonly [K in EffectKind]: string } = {
  model: 'it asks a model',
  http: 'it asks the web',
  command: 'it runs a command',
  tool: 'it uses a tool',
  mcp: 'it uses a tool server',
  file: 'it changes files',
  git: 'it uses git',
  agent: 'it starts an agent of another program',
  message: 'it sends a message',
  approval: 'it asks for an approval',
}

/** The name of the model that a request is for. */
export function modelOf(request: Json): string {
  const name = isObject(request) ? request['provider'] : undefined
  return typeof name === 'string' ? name : 'a model'
}

/** Why a part is done again that reads something else than before. */
export function changedText({ name, args }: AskedCall): string {
  const path = fileOf({ name, args })
  return path === undefined ? `${callText(name, args)} gives something else` : `${path} changed`
}

/** Why a part is done again that reads what it did not read before. */
export function newText({ name, args }: AskedCall): string {
  const path = fileOf({ name, args })
  return path === undefined ? `it calls ${callText(name, args)}, which it did not before` : `${path} is new to it`
}

/** The file that a reading is of, when that is one file. */
function fileOf({ name, args }: AskedCall): string | undefined {
  const [path] = Array.isArray(args) ? (args as readonly Json[]) : []
  return /^(file\.read|attachment|aip\.file\.(?!list|first|stats))/.test(name) && typeof path === 'string'
    ? path
    : undefined
}
