import { describe, expect, it } from 'vitest'
import { collabNote, delegateExitNote, delegateNote } from '../../../src/team/delegate/delegation.ts'

describe('the messages to team members (R125-R136)', () => {
  it('begin with the note of delegate mode (TV33)', () => {
    expect(delegateNote({ team: 'auth', list: 'docs/tasks.md' })).toBe(
      [
        '<system-reminder>',
        'Delegate mode is active for team "auth".',
        '',
        'Task list location: docs/tasks.md',
        '',
        'As a team member:',
        '- Check the task list for assigned work',
        '- Update task status as you progress',
        '- Coordinate with other team members via collab_notification',
        '',
        'Do NOT exit delegate mode until all tasks are complete.',
        '</system-reminder>',
      ].join('\n'),
    )
  })

  it('end with a note (TV34)', () => {
    expect(delegateExitNote).toBe(
      '<system-reminder>\nDelegate mode has ended. All team tasks should be complete.\nSummarize the work done and any remaining items.\n</system-reminder>',
    )
  })

  it('include unread messages, and nothing without chats (TV35)', () => {
    const chats = [
      { handle: 'teammate', unread: 2 },
      { handle: 'self', unread: 0 },
    ] as const
    expect(collabNote(chats)).toBe(
      [
        '<system-reminder>',
        'Team collaboration notifications:',
        '- teammate: 2 unread message(s)',
        '- self: 0 unread message(s)',
        '',
        'Use collab tools to read and respond to messages.',
        '</system-reminder>',
      ].join('\n'),
    )
    expect(collabNote([])).toBe('')
  })
})
