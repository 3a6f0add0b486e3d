import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines, snapshot } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

interface Asked {
  /** What an agent should find; undefined: its caller asks. */
  readonly animal: string | undefined
  readonly turn: number
  /** All messages of users and agents. */
  readonly told: string
}

interface World {
  readonly server: ModelServer
  /** Who was asked for which turn, in order. */
  readonly asked: string[]
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  /** The folder of the runs. */
  readonly home: string
  /** Kills it when `isTime` returns true. `printed`: the output so far of the stream that was last written to. */
  readonly runUntil: (isTime: (printed: string) => boolean, ...args: readonly string[]) => Promise<BatonResult>
}

const files = {
  'lead.md': '+++\nmodel = "m"\ntools = ["task", "todo"]\n+++\nWhere are they?\n',
  'agents/finder.md': '+++\ndescription = "Finds animals."\ntools = ["todo"]\n+++\nYou find animals.\n',
}

async function world(reply: (asked: Asked) => ModelReply | Promise<ModelReply>, config = ''): Promise<World> {
  const asked: string[] = []
  const server = await startModelServer(({ body }) => {
    const messages = body?.messages ?? []
    const told = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
    const animal = told.map((text) => /^Find the (\w+)\.$/.exec(text)?.[1]).find((one) => one !== undefined)
    const turn = messages.filter(({ role }) => role === 'assistant').length
    asked.push(`${animal ?? 'lead'}/${turn}`)
    return reply({ animal, turn, told: told.join('\n') })
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const home = tempTree({ 'config/config.toml': config })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: home }
  return {
    server,
    home,
    asked,
    run: (...args) => baton(args, { cwd, env }),
    async runUntil(isTime, ...args) {
      let printed = ''
      let looking: NodeJS.Timeout | undefined
      const look = (text: string, kill: (signal: NodeJS.Signals) => void): void => {
        printed = text
        looking ??= setInterval(() => {
          if (!isTime(printed)) return
          clearInterval(looking)
          kill('SIGKILL')
        }, 10)
      }
      const ended = await baton(args, { cwd, env, process: 'own', onError: look, onOutput: look })
      clearInterval(looking)
      return ended
    },
  }
}

const find = (animal: string): readonly [string, object] => [
  'task',
  {
    description: `find the ${animal}`,
    prompt: `Find the ${animal}.`,
    subagent_type: 'finder',
    run_in_background: true,
  },
]

/** The same, and the caller waits for it. */
function waitFor(animal: string): readonly [string, object] {
  const [name, input] = find(animal)
  return [name, { ...input, run_in_background: false }]
}

const todo = callsTools(['todo', { todos: [] }])

function leadSays({ turn, told }: Asked): ModelReply {
  if (turn === 0) return callsTools(find('cat') as never, find('dog') as never)
  const all = ['cat', 'dog'].every((animal) => told.includes(`(find the ${animal}) is done: the ${animal} is at home`))
  return { text: all ? 'Both are at home.' : 'I wait.' }
}

it('a run with two agents in the background that is killed is resumed where each of them was, shown, and replayed without a model', async () => {
  let isKilled = false
  const one = await world(async (asked) => {
    const { animal, turn } = asked
    if (animal === undefined) return leadSays(asked)
    if (turn === 0) return todo
    // the first process never receives the end of the dog's answer
    if (animal === 'dog' && !isKilled) return { chunks: ['the', ' dog'], stallAfter: 1 }
    return { text: `the ${animal} is at home` }
  })
  const killed = await one.runUntil(
    () => {
      const isTime = one.asked.includes('lead/2') || one.asked.filter((name) => name.startsWith('lead')).length > 2
      isKilled ||= isTime
      return isTime
    },
    'lead.md',
    '--json',
  )
  expect([killed.code, isKilled]).toEqual([null, true])
  const before = [...one.asked]
  expect(before).toEqual(expect.arrayContaining(['cat/0', 'cat/1', 'dog/0', 'dog/1']))

  const resumed = await one.run('resume', '--last', '--json')
  const events = jsonLines(resumed.stdout)
  expect(events.at(-1), resumed.stderr).toMatchObject({ exit_code: 0, result: 'Both are at home.' })
  // only what was in flight is requested again, and then what follows
  const again = one.asked.slice(before.length)
  expect(again.filter((name) => before.includes(name) && name !== 'dog/1' && !name.startsWith('lead/'))).toEqual([])
  expect(one.asked.filter((name) => name === 'cat/1')).toEqual(['cat/1'])
  const last =
    one.server.requests
      .at(-1)
      ?.body?.messages.map(({ content }) => content)
      .join('\n') ?? ''
  expect([last.match(/find the cat\) is done/g), last.match(/find the dog\) is done/g)]).toEqual([
    ['find the cat) is done'],
    ['find the dog) is done'],
  ])

  const cat = events.find((event) => event['type'] === 'agent.completed' && event['id'] !== undefined)
  expect(cat).toMatchObject({ name: 'finder', stop_reason: 'done', usage: { calls: 2 } })
  const transcript = jsonLines((await one.run('runs', 'show', 'last', '--agent', String(cat?.['id']), '--json')).stdout)
  expect(transcript.map((line) => line['type'])).toEqual(['system', 'user', 'assistant', 'tool', 'assistant'])
  for (const line of transcript) {
    expect(line).toMatchObject({ agent_id: cat?.['id'], agent_name: 'finder', is_sidechain: true })
  }
  expect(transcript.map((line) => line['parent_uuid'])).toEqual([
    null,
    ...transcript.slice(0, -1).map((line) => line['uuid']),
  ])
  expect((await one.run('runs', 'show', 'last')).stdout).toContain(`find the cat (`)

  await one.server.close()
  const replayed = await one.run('lead.md', '--replay', 'last')
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: 'Both are at home.\n' })
})

it('an agent that waits for an approval suspends the run when the others have ended, and continues once it is approved', async () => {
  const one = await world((asked) => {
    const { animal, turn } = asked
    if (animal === undefined) return leadSays(asked)
    return turn === 0 && animal === 'dog' ? todo : { text: `the ${animal} is at home` }
  }, '[permission]\ntodo = "ask"\n')
  const waits = await one.run('lead.md', '--on-ask', 'suspend')
  expect([waits.code, waits.stdout], waits.stderr).toEqual([5, ''])
  expect(waits.stderr).toMatch(/waiting for approval: 1 call\n\d+ {2}todo {2}of finder a[0-9a-f]{8} /)
  expect(one.asked).toContain('cat/0')
  const before = [...one.asked]
  const done = await one.run('approve')
  expect(done, done.stderr).toMatchObject({ code: 0, stdout: 'Both are at home.\n' })
  expect(done.stderr).toContain('finder (find the dog): todo')
  expect(one.asked.slice(before.length).filter((name) => before.includes(name))).toEqual([])
})

it('an agent that the budget of the run stops has not ended: with a higher one a resumed run lets it continue', async () => {
  const one = await world(({ animal, turn }) => {
    if (animal !== undefined) return turn < 2 ? todo : { text: `the ${animal} is at home` }
    return turn === 0 ? callsTools(waitFor('cat') as never, waitFor('dog') as never) : { text: 'done' }
  })
  const stopped = await one.run('lead.md', '-c', 'budget.calls=1')
  expect([stopped.code, one.asked.length]).toEqual([4, 1])
  expect(stopped.stderr).toMatch(/^resume: baton resume \S+ -c budget\.calls=N$/m)
  expect(stopped.stderr).not.toContain('failed task')

  const resumed = await one.run('resume', '--last', '-c', 'budget.calls=30', '--json')
  expect(jsonLines(resumed.stdout).at(-1), resumed.stderr).toMatchObject({ exit_code: 0, result: 'done' })
  expect(new Set(one.asked).size).toBe(8)
  expect(one.asked.filter((name) => name === 'cat/2' || name === 'dog/2')).toHaveLength(2)
  expect(JSON.stringify(one.server.requests.at(-1)?.body?.messages)).toContain('the dog is at home')
})

it('an agent that uses up its share of the budget fails alone, also when the run is killed in between: the others have theirs, and the run succeeds', async () => {
  let isKilled = false
  const one = await world(({ animal, turn }) => {
    if (animal === undefined) {
      const calls = ['cat', 'dog'].map((name) => [find(name)[0], { ...find(name)[1], run_in_background: false }])
      return turn === 0 ? callsTools(...(calls as never[])) : { text: 'One of them.' }
    }
    if (animal === 'cat' || turn < 2) return todo
    return isKilled ? { text: 'the dog is at home' } : { chunks: ['the', ' dog'], stallAfter: 1 }
  }, '[budget]\ncalls = 9\n')
  // until an agent's end is on disk, a moment after it is shown, a resume would lend its share again
  const runs = join(one.home, 'state/runs')
  const isEndOnDisk = (): boolean => Object.values(snapshot(runs)).some((text) => text.includes('allow a call'))
  const isTime = (): boolean => (isKilled = one.asked.includes('dog/2') && isEndOnDisk())
  const killed = await one.runUntil(isTime, 'lead.md', '--json')
  expect([killed.code, isKilled]).toEqual([null, true])
  expect(one.asked.filter((name) => name.startsWith('cat'))).toEqual(['cat/0', 'cat/1'])
  const resumed = await one.run('resume', '--last', '--json')
  const events = jsonLines(resumed.stdout)
  expect(events.at(-1), resumed.stderr).toMatchObject({ exit_code: 0, result: 'One of them.' })
  const outputs = events.filter((event) => event['type'] === 'tool.completed').map(({ output }) => String(output))
  expect(outputs.find((text) => text.includes('find the cat'))).toContain(
    'failed: the part of the budget lent to agent "finder", 2 calls, does not allow a call',
  )
  expect(outputs.some((text) => text.startsWith('the dog is at home'))).toBe(true)
  expect(one.asked.filter((name) => name.startsWith('cat'))).toEqual(['cat/0', 'cat/1'])
})
