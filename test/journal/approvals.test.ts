import { describe, expect, it } from 'vitest'
import { isWaitingForApproval } from '../../src/base/error.ts'
import type { ApprovalView } from '../../src/event/action-view.ts'
import type { EventBody } from '../../src/event/event.ts'
import { type Action, type Decision, grantFor } from '../../src/event/permission.ts'
import { parsePlace } from '../../src/event/place.ts'
import { type ApprovalOptions, createApprovals } from '../../src/journal/approvals.ts'

type ToolAction = Extract<Action, { readonly kind: 'tool' }>

const edit = (path: string, input = path): ToolAction => ({
  kind: 'tool',
  tool: 'edit',
  input: { path: input },
  subject: { kind: 'path', path },
})

const call = 'task/0/agent/ask/turn/0/tool/0:edit'

/** Asks the questions one after the other, and returns the answer to each. */
async function put(
  options: ApprovalOptions,
  actions: readonly Action[],
  since?: number,
): Promise<readonly (Decision | 'waits' | 'refused')[]> {
  const { open, settle } = createApprovals(options)
  const answers: (Decision | 'waits' | 'refused')[] = []
  for (const [index, action] of actions.entries()) {
    const place = `task/${index}`
    try {
      const { answer } = open(action, { at: parsePlace(place), place: `${place}/approval`, since })
      const decision = await answer(new AbortController().signal)
      settle(decision)
      answers.push(decision)
    } catch (error) {
      answers.push(isWaitingForApproval(error) ? 'waits' : 'refused')
    }
  }
  return answers
}

describe('a permanent approval', () => {
  it('applies to the same tool with the same subject, and to nothing else', async () => {
    const first = edit('/w/a.ts')
    const decisions: Decision[] = [{ always: grantFor(first) }, 'deny', 'deny', 'deny']
    const others: Action[] = [
      edit('/w/a.ts', 'another input'),
      edit('/w/b.ts'),
      { ...first, tool: 'write' },
      { kind: 'write', path: '/w/a.ts', named: '/w/a.ts' },
    ]
    const approver = async (): Promise<Decision> => decisions.shift() ?? 'deny'
    const [always, ...answers] = await put({ approver }, [first, ...others])
    expect(always).toEqual({ always: { tool: 'edit', subject: { kind: 'path', path: '/w/a.ts' } } })
    expect(answers).toEqual(['allow', 'deny', 'deny', 'deny'])
  })

  it('applies to a tool of a server only as it was then, also if another process recorded it', async () => {
    const tool = (version: string): ToolAction => ({ kind: 'tool', tool: 's__t', input: {}, version })
    const { always } = { always: grantFor(tool('old')) }
    const approver = async (): Promise<Decision> => 'deny'
    const asked = [tool('old'), tool('new'), tool('old')]
    expect(await put({ approver, before: { places: [], grants: [always] } }, asked)).toEqual(['allow', 'deny', 'allow'])
    // what baton approve reads in the record names no version
    const grants = [{ tool: 's__t' }]
    expect(await put({ approver, before: { places: [], grants } }, asked)).toEqual(['allow', 'deny', 'allow'])
  })

  it('applies to a command line only in its folder; approvals of older versions name none', async () => {
    const line = (folder: string): ToolAction => ({
      kind: 'tool',
      tool: 'bash',
      input: { command: './x' },
      subject: { kind: 'command', line: './x', commands: [{ texts: [{ text: './x' }] }] },
      about: { folder },
    })
    const given = grantFor(line('.'))
    expect(given.folder).toBe('.')
    const { folder: _, ...older } = given
    const actions = [line('.'), line('sub')]
    expect(await put({ approver: 'deny', before: { places: [], grants: [given] } }, actions)).toEqual([
      'allow',
      'refused',
    ])
    expect(await put({ approver: 'deny', before: { places: [], grants: [older] } }, actions)).toEqual([
      'allow',
      'allow',
    ])
  })

  it('applies in later processes, also if nobody can be asked', async () => {
    const before = { places: [], grants: [grantFor(edit('/w/a.ts'))] }
    const both = [edit('/w/a.ts'), edit('/w/b.ts')]
    expect(await put({ before }, both)).toEqual(['allow', 'refused'])
    expect(await put({ before, approver: 'deny' }, both)).toEqual(['allow', 'refused'])
  })
})

describe('a question of an older process', () => {
  it('stays open if nobody can be asked, unless all are denied', async () => {
    const waiting: ApprovalView[] = []
    expect(await put({ onWaiting: (view) => waiting.push(view) }, [edit('/w/a.ts')], 1000)).toEqual(['waits'])
    expect(waiting).toMatchObject([{ id: '1', place: 'task/0', asked: '1970-01-01T00:00:01.000Z' }])
    expect(await put({ approver: 'deny' }, [edit('/w/a.ts')], 1000)).toEqual(['refused'])
  })

  it('counts as denied when it is too old, whoever could be asked', async () => {
    const expired = { expired: '2 min' }
    const limitMs = 120_000
    const approver = (): Promise<Decision> => Promise.reject(new Error('nobody is asked any more'))
    expect(await put({ limitMs }, [edit('/w/a.ts')], 1000)).toEqual([expired])
    expect(await put({ limitMs, approver }, [edit('/w/a.ts')], 1000)).toEqual([expired])
    expect(await put({ limitMs, approver: 'allow' }, [edit('/w/a.ts')], 1000)).toEqual(['allow'])
  })
})

it('is withdrawn when its time is over, and reported as decided', async () => {
  const events: EventBody[] = []
  const withdrawn: boolean[] = []
  const approver: ApprovalOptions['approver'] = (_, { signal }) =>
    new Promise(() => signal.addEventListener('abort', () => withdrawn.push(true)))
  const options: ApprovalOptions = { limitMs: 30, approver, events: (_, event) => events.push(event) }
  expect(await put(options, [edit('/w/a.ts')])).toEqual([{ expired: '30 ms' }])
  expect(withdrawn).toEqual([true])
  expect(events).toMatchObject([
    { type: 'approval.requested', id: '1', tool: 'edit', input: { path: '/w/a.ts' } },
    { type: 'approval.decided', id: '1', decision: 'expired', reason: 'nobody has answered for 30 ms' },
  ])
})

it('has the number of its place in the order in which places were first recorded', () => {
  const { number } = createApprovals({ before: { places: ['b', 'a'], grants: [] } })
  expect([number('a'), number('c'), number('b'), number(call), number('c')]).toEqual(['2', '3', '1', '4', '3'])
})
