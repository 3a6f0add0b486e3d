import { modelText } from '../../base/model-text.ts'

/** The note at the start of each conversation of a team (R127, R129, R136, TV33). */
export function delegateNote({ team, list }: { readonly team: string; readonly list: string }): string {
  return modelText`<system-reminder>
Delegate mode is active for team "${team}".

Task list location: ${list}

As a team member:
- Check the task list for assigned work
- Update task status as you progress
- Coordinate with other team members via collab_notification

Do NOT exit delegate mode until all tasks are complete.
</system-reminder>`
}

/** The note for the leader after it has left (R126, R130, R131, TV34). */
export const delegateExitNote = modelText`<system-reminder>
Delegate mode has ended. All team tasks should be complete.
Summarize the work done and any remaining items.
</system-reminder>`

/** Counts of unread messages: from others, or notes to oneself (R132, R133). */
export interface Chat {
  readonly handle: 'teammate' | 'self'
  readonly unread: number
}

/** The note about unread messages; empty without chats (R134, R135, TV35). */
export function collabNote(chats: readonly Chat[]): string {
  if (chats.length === 0) return ''
  const lines = chats.map(({ handle, unread }) => modelText`- ${handle}: ${unread} unread message(s)`)
  return modelText`<system-reminder>
Team collaboration notifications:
${lines.join('\n')}

Use collab tools to read and respond to messages.
</system-reminder>`
}
