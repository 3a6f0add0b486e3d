import type { AskedCall, EffectKind } from '../event/effects.ts'
import { callText } from './call-text.ts'

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

/** Why a part is done again that reads something else than before. */
export function changedText({ name, args, reads }: AskedCall): string {
  return reads === undefined ? `${callText(name, args)} gives something else` : `${reads} changed`
}

/** Why a part is done again that reads what it did not read before. */
export function newText({ name, args, reads }: AskedCall): string {
  return reads === undefined ? `it calls ${callText(name, args)}, which it did not before` : `${reads} is new to it`
}
