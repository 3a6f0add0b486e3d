import { expect, it } from 'vitest'
import { timelineLines } from '../../src/render/timeline.ts'
import { sequenceLines } from '../../src/render/sequence.ts'
import { ganttText, sequenceText } from '../../src/render/team-mermaid.ts'
import { recordTeam } from '../history/team-fixture.ts'
it('x', async () => {
  const {
    teams: [team],
    pauses,
  } = await (await recordTeam()).teams()
  const paint = (_: unknown, text: string) => text
  for (const width of [40, 60, 80, Infinity])
    console.log(timelineLines(team!, pauses, { paint, width, lines: 40 }).join('\n'))
  console.log(sequenceLines(team!, pauses, { paint, width: 80, lines: 40 }).join('\n'))
  console.log(sequenceLines(team!, pauses, { paint, width: 80, lines: Infinity }).join('\n'))
  console.log(ganttText(team!, pauses, 'Run 2026: x;y'))
  console.log(sequenceText(team!, pauses))
})
