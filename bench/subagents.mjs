import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCounted } from './child.mjs'
import { figure, interleave, quotients } from './rounds.mjs'
import { readCall, startModel } from './scripted-model.mjs'

const eachStarts = 8

/**
 * 200 agents that models start with the tool `task`, all running at the same time: 25 callers, each of which starts
 * eight in one answer. The CPU time of a turn of an agent against one agent at a time, and the memory that each takes.
 */
export async function subagents({ command, folder, small }) {
  const callers = small ? 2 : 25
  const turns = small ? 2 : 10
  let most = turns
  let perCaller = 1
  const model = await startModel((_, text) => {
    const { messages } = JSON.parse(text)
    const isCaller = JSON.stringify(messages).includes('LEAD')
    const turn = messages.filter(({ role }) => role === 'assistant').length
    if (!isCaller) return turn < most ? { calls: [readCall({ number: turn })] } : { words: ['done'] }
    if (turn > 0) return { words: ['all done'] }
    return { calls: Array.from({ length: perCaller }, (_none, index) => taskCall(index)) }
  })
  mkdirSync(join(folder, 'agents'))
  writeFileSync(join(folder, 'note.txt'), 'a note\n')
  writeFileSync(
    join(folder, 'agents/reader.md'),
    '+++\ndescription = "reads"\ntools = ["read"]\nmax_turns = 20\n+++\nRead.\n',
  )
  for (const atOnce of [1, callers]) {
    const front = `template = true\nmodel = "bench"\ntools = ["task", "read"]\nmax_turns = 20\ninput_concurrency = ${atOnce}\nbudget.unpriced = "allow"`
    writeFileSync(join(folder, `lead-${atOnce}.md`), `+++\n${front}\n+++\nLEAD\n`)
  }

  /** `agents` for each caller, with that many turns. */
  const measure = (agents, number, atOnce) => async () => {
    model.begin()
    most = number
    perCaller = agents
    const inputs = Array.from({ length: callers }, (_, index) => ['-i', `input ${index}`]).flat()
    const env = { BATON_GATEWAY_URL: model.url, BATON_LOCAL_SERVERS: 'off' }
    const { cpu, peak } = await runCounted([command, 'run', `lead-${atOnce}.md`, ...inputs], { folder, env })
    return { cpu, peak }
  }
  try {
    const runs = await interleave(
      {
        atOnce: measure(eachStarts, turns, callers),
        atOnceShort: measure(eachStarts, 1, callers),
        alone: measure(1, turns, 1),
        aloneShort: measure(1, 1, 1),
        fewer: measure(1, turns, callers),
      },
      small ? 1 : 3,
    )
    const perTurn = (long, short, agents) =>
      long.map(({ cpu }, round) => (cpu - short[round].cpu) / (agents * (turns - 1)))
    const total = callers * eachStarts
    return [
      figure(`a turn of one of ${total} agents at once`, {
        of: 'a turn of one agent at a time',
        ratios: quotients(perTurn(runs.atOnce, runs.atOnceShort, total), perTurn(runs.alone, runs.aloneShort, callers)),
        aim: { atMost: 1.5 },
      }),
      figure(`memory of each of ${total} agents at once`, {
        of: '1 MB',
        ratios: runs.atOnce.map(({ peak }, round) => (peak - runs.fewer[round].peak) / 1024 / (total - callers)),
      }),
    ]
  } finally {
    model.stop()
  }
}

function taskCall(index) {
  const input = { description: 'read the note', prompt: `Read, ${index}.`, subagent_type: 'reader' }
  return { index, id: `task_${index}`, type: 'function', function: { name: 'task', arguments: JSON.stringify(input) } }
}
