import { expect, it } from 'vitest'
import type { Teams } from '../../src/history/team.ts'
import { sequenceLines } from '../../src/render/sequence.ts'
import { ganttText, sequenceText } from '../../src/render/team-mermaid.ts'
import { timelineLines } from '../../src/render/timeline.ts'
import { recordTeam } from '../history/team-fixture.ts'

const plain = { paint: (_: unknown, text: string) => text, lines: 40 }

async function recorded() {
  const all = await (await recordTeam()).teams()
  const [team] = all.teams
  if (team === undefined) throw new Error('there is no team')
  return { all, team, pauses: all.pauses }
}

it('draws the work of each member as bars in the width of the terminal, with waits, turns and failures', async () => {
  const { team, pauses } = await recorded()
  expect(timelineLines(team, pauses, { ...plain, width: 60 })).toEqual([
    'leader      ███░░░░░░░░███░█  completed  8.0s  $0.060',
    '  worker 1   ████             completed  4.0s  $0.010',
    '  worker 2   ██████████|████  completed  17.0s  $0.010',
    '  worker 3   ····█×           errored  2.0s  $0.010  closed',
    '            0s         20.0s',
    '█ working  ░ waiting  · queued  | stopped  × failed',
    'failed worker 3: no such model',
  ])
  const narrow = timelineLines(team, pauses, { ...plain, width: 40 })
  expect(narrow.slice(0, 4).every((line) => line.length < 40)).toBe(true)
  expect(narrow[0]).toMatch(/ {2}completed$/)
})

it('omits the break between two sessions, and says so', async () => {
  const { team } = await recorded()
  const begin = team.members[0]?.spans[0]?.from ?? 0
  const pauses = [{ last: begin + 10_000, next: begin + 12_000 }]
  const lines = timelineLines(team, pauses, { ...plain, width: 60 })
  expect(lines[4]).toMatch(/18\.0s$/)
  expect(lines[6]).toBe('resumed at 10.0s, after a break of 2.0s')
})

it('shows a few members of a large team, and counts the others', async () => {
  const { team, pauses } = await recorded()
  const many = { ...team, members: Array.from({ length: 50 }, () => team.members[1] ?? team.members[0]!) }
  const lines = timelineLines(many, pauses, { ...plain, width: 80, lines: 5 })
  expect(lines[5]).toBe('… 45 more agents (--all)')
})

it('lists messages with sender and receiver', async () => {
  const { team, pauses } = await recorded()
  expect(sequenceLines(team, pauses, { ...plain, width: 80 })).toEqual([
    '   2.0s  leader → worker 1  starts: Count the files.',
    '   2.0s  leader → worker 2  starts: Read all of it.',
    '   2.0s  leader → worker 3  starts: Ask a model that is not there.',
    '   4.0s  leader             waits for all of worker 1, worker 2, worker 3',
    '   6.0s  worker 1 → leader  completed: There are 12.',
    '   8.0s  worker 3 → leader  errored: no such model',
    '  14.0s  leader             wait timed out',
    '  15.0s  leader → worker 2  interrupts: Only the tests; be quick.',
    '  15.0s  worker 2 → leader  stopped',
    '  16.0s  leader → worker 3  closes',
    '  19.0s  worker 2 → leader  completed: They are short.',
  ])
  expect(sequenceLines(team, pauses, { ...plain, width: 50 })[7]).toBe(
    '  15.0s  leader → worker 2  interrupts: Only the…',
  )
})

it('writes a Mermaid gantt chart with a section for each member', async () => {
  const { all } = await recorded()
  const lines = ganttText(all, 'run 1: a;b').split('\n')
  expect(lines.slice(0, 7)).toEqual([
    'gantt',
    '    title run 1#58; a#59;b',
    '    dateFormat x',
    '    axisFormat %H:%M:%S',
    '    section leader',
    '    working :1800000000000, 1800000004000',
    '    waiting for worker 1, worker 2, worker 3 :done, 1800000004000, 1800000014000',
  ])
  expect(lines).toContain('    working :crit, 1800000006000, 1800000008000')
})

it('writes a Mermaid sequence diagram in which no text is interpreted', async () => {
  const { all } = await recorded()
  const hostile: Teams = {
    ...all,
    teams: all.teams.map(({ members, exchanges }) => ({
      members: members.map((one, index) => (index === 1 ? { ...one, name: '' } : one)),
      exchanges: exchanges.map((one) => ('text' in one ? { ...one, text: 'x\nm0->>m1: y; %%{init}%% #35; <b>' } : one)),
    })),
  }
  const lines = sequenceText(hostile).split('\n')
  expect(lines.slice(0, 6)).toEqual([
    'sequenceDiagram',
    '    participant t0m0 as leader',
    '    participant t0m1 as -',
    '    participant t0m2 as worker 2',
    '    participant t0m3 as worker 3',
    '    t0m0->>t0m1: starts#58; x m0-#62;#62;m1#58; y#59; #37;#37;#123;init#125;#37;#37; #35;35#59; #60;b#62;',
  ])
  expect(lines).toContain('    Note over t0m0: waits for all of , worker 2, worker 3')
  expect(lines).toContain('    t0m0-xt0m3: closes')
})
