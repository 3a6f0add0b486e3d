import { modelText } from '../../base/model-text.ts'
import { cutText } from '../../base/cut-text.ts'
import { type AgentStatus, leaderId, type Mail } from '../../event/collab.ts'

/** Characters of an answer in a notice. */
const mostInNotice = 30_000

/** The name of a member in texts for models and users. */
export function nameOf(id: string, role: string | undefined): string {
  if (id === leaderId) return modelText`the leader`
  return role === undefined ? id : `${role} ${id}`
}

/** A message as its receiver gets it: the plain text if it comes from the receiver's spawner, else with its sender. */
export function mailText(
  { from, text }: Mail,
  receiver: { readonly parent: string } | undefined,
  sender: string,
): string {
  return from === receiver?.parent ? text : modelText`Message from ${sender}:\n\n${text}`
}

/** The notice for the spawner of an agent when a piece of its work has ended. */
export function noticeText(name: string, status: AgentStatus): string {
  const text = `${name} ${endText(status)}`
  return text.length <= mostInNotice
    ? text
    : modelText`${cutText(text, mostInNotice)}\n[cut: wait returns everything it has said]`
}

function endText(status: AgentStatus): string {
  if (typeof status === 'string') return modelText`is ${status}`
  if ('errored' in status) return modelText`failed: ${status.errored}`
  return status.completed === null ? modelText`is done; it returned no text` : modelText`is done: ${status.completed}`
}
