import { describe, expect, it } from 'vitest'
import { exchangesJson, timelineJson } from '../../src/history/team-json.ts'
import { createRecorder, ids, pieceAt, recordTeam, startMs } from './team-fixture.ts'

/** Spans in seconds since the start: `working 2-6 done`. */
async function spansOf(recorder: Awaited<ReturnType<typeof recordTeam>>) {
  const { teams } = await recorder.teams()
  return Object.fromEntries(
    (teams[0]?.members ?? []).map(({ name, spans }) => [
      name,
      spans.map(({ kind, from, to, ended }) => {
        const [begin, end] = [from, to].map((t) => (t === null ? '' : (t - startMs) / 1000))
        return `${kind} ${begin}-${end}${ended === null ? '' : ` ${ended}`}`
      }),
    ]),
  )
}

describe('the team of a run', () => {
  it('contains the leader and its agents with their tasks, states and costs', async () => {
    const { teams } = await (await recordTeam()).teams()
    const [leader, quick, slow, broken] = teams[0]?.members ?? []

    expect(teams).toHaveLength(1)
    expect(leader).toMatchObject({ id: 'root', name: 'leader', place: 'task/0/ask', from: null, status: 'completed' })
    expect(leader?.paid).toMatchObject({ calls: 6, input: 600 })
    expect(quick).toMatchObject({ id: ids.quick, name: 'worker 1', label: 'Count the files.', from: 'root', depth: 1 })
    expect(quick).toMatchObject({
      status: 'completed',
      text: 'There are 12.',
      closed: false,
      paid: { calls: 1, usd: 0.01 },
    })
    expect(slow).toMatchObject({ id: ids.slow, name: 'worker 2', status: 'completed', text: 'They are short.' })
    expect(broken).toMatchObject({
      id: ids.broken,
      name: 'worker 3',
      status: 'errored',
      text: 'no such model',
      closed: true,
    })
  })

  it('distinguishes work from waits: for agents to end, for messages, and for a turn to work', async () => {
    expect(await spansOf(await recordTeam())).toEqual({
      leader: ['working 0-4', 'waiting 4-14', 'working 14-17', 'waiting 17-19', 'working 19-20'],
      'worker 1': ['working 2-6 done'],
      'worker 2': ['working 2-15 stopped', 'working 15-19 done'],
      'worker 3': ['queued 2-6', 'working 6-8 failed'],
    })
  })

  it('contains who said what to whom, in the recorded order', async () => {
    const { teams } = await (await recordTeam()).teams()
    const said = (teams[0]?.exchanges ?? []).map((one) => {
      const { kind, t } = one
      const who = ['from' in one ? one.from : '', 'to' in one ? one.to : '']
      return [
        (t - startMs) / 1000,
        kind,
        ...who.map((id) => Object.entries(ids).find(([, own]) => own === id)?.[0] ?? id),
      ]
    })
    expect(said).toEqual([
      [2, 'spawn', 'root', 'quick'],
      [2, 'spawn', 'root', 'slow'],
      [2, 'spawn', 'root', 'broken'],
      [4, 'wait', 'root', ''],
      [6, 'end', 'quick', 'root'],
      [8, 'end', 'broken', 'root'],
      [14, 'waited', 'root', ''],
      [15, 'message', 'root', 'slow'],
      [15, 'end', 'slow', 'root'],
      [16, 'close', 'root', 'broken'],
      [19, 'end', 'slow', 'root'],
    ])
  })

  it('contains unfinished work, and agents that wait for their turn', async () => {
    const recorder = createRecorder()
    const { at, observe, model, boundary } = recorder
    await boundary('task/0')
    const turn = await model('task/0/agent/ask/turn/0#0')
    at(1)
    await turn.end('spawn_agent', 'spawn_agent', 'spawn_agent')
    for (const [call, id] of [ids.quick, ids.slow].entries()) {
      const place = `task/0/agent/ask/turn/0/tool/${call}:spawn_agent/0#0`
      observe(place, 'spawn_agent', { args: { role: 'worker', message: 'Do it.' }, value: { id } })
    }
    observe('task/0/agent/ask/turn/0/tool/2:spawn_agent/0#0', 'spawn_agent', {
      args: { role: 'worker', message: 'Do it.' },
      value: { refused: 'depth limit' },
    })
    await boundary(pieceAt(0, 0).piece)
    await model(pieceAt(0, 0).model)
    await boundary(pieceAt(1, 0).piece)
    const waiting = await model('task/0/agent/ask/turn/1#0')
    at(3)
    await waiting.end('wait')

    expect(await spansOf(recorder)).toEqual({
      leader: ['working 0-3', 'waiting 3-'],
      'worker 1': ['working 1-'],
      'worker 2': ['queued 1-'],
    })
    const { teams } = await recorder.teams()
    expect(teams[0]?.members.map(({ status }) => status)).toEqual(['running', 'running', 'pending_init'])
    expect(teams[0]?.exchanges.filter(({ kind }) => kind === 'refused')).toMatchObject([{ text: 'depth limit' }])
  })

  it('contains agents that a model started with task, and who waited for them', async () => {
    const recorder = createRecorder()
    const { at, observe, model, boundary } = recorder
    await boundary('task/0')
    const turn = await model('task/0/agent/ask/turn/0#0')
    at(1)
    await turn.end('task')
    observe('task/0/agent/ask/turn/0/tool/0:task/0#0', 'task', {
      args: { agent: 'Explore', background: false },
      value: { start: { plan: false } },
    })
    const agent = await boundary('task/0/ask/turn/0/tool/0:task/agent/Explore', 'Find it (a1)')
    at(4)
    await agent.end({ status: 'done', text: 'Found.' })
    await model('task/0/agent/ask/turn/1#0')

    expect(await spansOf(recorder)).toEqual({
      leader: ['working 0-1', 'waiting 1-4', 'working 4-'],
      'Explore 1': ['working 1-4 done'],
    })
  })

  it('is empty if no model has started an agent', async () => {
    const recorder = createRecorder()
    await (await recorder.boundary('task/0')).end({ status: 'done' })
    expect(await recorder.teams()).toEqual({ teams: [], pauses: [] })
  })
})

it('provides times in UTC and fields in snake_case to programs', async () => {
  const all = await (await recordTeam()).teams()
  const timeline = timelineJson('r1', all)
  expect(timeline).toMatchObject({
    run: 'r1',
    breaks: [],
    teams: [{ members: [{}, { id: ids.quick, cost_usd: 0.01 }, {}, {}] }],
  })
  const lines = all.teams.flatMap(exchangesJson)
  expect(lines[7]).toEqual({
    place: 'task/0/ask',
    at: '2027-01-15T08:00:15.000Z',
    kind: 'message',
    from: 'root',
    to: ids.slow,
    text: 'Only the tests; be quick.',
    interrupt: true,
    told: '2027-01-15T08:00:15.000Z',
  })
  expect(lines.concat(timeline).flatMap((line) => JSON.stringify(line).match(/"[a-z]+[A-Z]\w*":/g) ?? [])).toEqual([])
})
