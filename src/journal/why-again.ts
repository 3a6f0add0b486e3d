import type { AskedCall, EffectKind } from '../event/effects.ts'
import { callText } from './call-text.ts'

/** Why a part with an effect of this kind is always repeated. */
export const always: { readonly [K in EffectKind]: string } = {
  model: 'it calls a model',
  http: 'it makes an HTTP request',
  command: 'it runs a command',
  tool: 'it uses a tool',
  mcp: 'it uses a tool server',
  file: 'it changes files',
  git: 'it uses git',
  agent: 'it starts an agent of another program',
  message: 'it sends a message',
  approval: 'it asks for approval',
}

/** Why a part is repeated that reads something different than before. */
export function changedText({ name, args, reads }: AskedCall): string {
  return reads === undefined ? `${callText(name, args)} returns something else` : `${reads} changed`
}

/** Why a part is repeated that reads something it did not read before. */
export function newText({ name, args, reads }: AskedCall): string {
  return reads === undefined
    ? `it calls ${callText(name, args)}, which it did not before`
    : `it did not read ${reads} before`
}
