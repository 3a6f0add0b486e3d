import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelServer, startModelServer } from '../model-server.ts'
import { jsonLines } from '../baton.ts'
import { tempTree } from '../temp.ts'
import { type Disturbance, play } from './play.ts'
import { makeWorldOf, type World } from './scenario.ts'

/** A message of a chat whose process is killed, and the chat is continued. */
export interface ChatTry {
  readonly at: string
  /** The line that is sent. */
  readonly line: string
  /** Whether the chat has a message before it. */
  readonly isContinued: boolean
  readonly disturb: Disturbance
}

export interface ChatTrial {
  readonly problems: readonly string[]
  readonly isHit: boolean
  /** Whether the message was on disk when the process ended. */
  readonly isTaken: boolean
  /** Operations on the folder of runs by the process that was disturbed. */
  readonly operations: number
}

/** The text of the disturbed message, also within a command. */
const second = 'Second.'

/** Each answer tells which message it is for. */
function startEcho(): Promise<ModelServer> {
  return startModelServer(({ body }) => ({ text: `Heard: ${userTexts(body?.messages).at(-1)}` }))
}

function userTexts(messages: readonly { readonly role: string; readonly content?: unknown }[] = []): readonly string[] {
  return messages.flatMap(({ role, content }) => (role === 'user' ? [String(content)] : []))
}

export async function tryChat({ line, isContinued, disturb }: ChatTry): Promise<ChatTrial> {
  const server = await startEcho()
  try {
    const world = makeWorldOf({ 'baton.toml': 'model = "m"\n', '.git/HEAD': '' }, tempTree())
    const chat = (input: string, args: readonly string[], more: { readonly disturb?: Disturbance } = {}) =>
      play(['chat', ...args], { world, url: server.url, input: `${input}\n`, ...more })
    if (isContinued) await chat('First.', [])
    const killed = await chat(line, isContinued ? ['--continue'] : [], { disturb })
    const isTaken = isOnDisk(world)
    const before = server.requests.length
    const last = await chat('Third.', isContinued || isTaken ? ['--continue'] : [])
    const asked = userTexts(server.requests.at(-1)?.body?.messages)
    const expected = [...(isContinued ? ['First.'] : []), ...(isTaken ? [second] : []), 'Third.']
    const problems: string[] = []
    if (killed.code !== null && killed.code !== 0) problems.push(`exit ${killed.code}: ${killed.stderr}`)
    if (last.code !== 0) problems.push(`the chat is continued with exit ${last.code}: ${last.stderr}`)
    if (asked.join() !== expected.join())
      problems.push(`the model got ${JSON.stringify(asked)}, not ${JSON.stringify(expected)}`)
    if (server.requests.length === before) problems.push('nothing was sent')
    problems.push(...(await runProblems(world, { server, count: expected.length })))
    const left = filesIn(join(runsOf(world), 'chats'))
    if (left.some((name) => !name.endsWith('.tmp'))) problems.push(`files are left: ${left.join()}`)
    return { problems, isHit: killed.code === null, isTaken, operations: killed.operations.length }
  } finally {
    await server.close()
  }
}

/** Each message has one run, and each run is done. */
async function runProblems(
  world: World,
  { server, count }: { readonly server: ModelServer; readonly count: number },
): Promise<readonly string[]> {
  const { stdout } = await play(['runs', '--json', '-n', '0'], { world, url: server.url })
  const states = jsonLines(stdout).map(({ status }) => String(status))
  const isRight = states.length === count && states.every((status) => status === 'done')
  return isRight ? [] : [`its runs are ${states.join()}, not ${count} done ones`]
}

function isOnDisk(world: World): boolean {
  const runs = runsOf(world)
  const texts = [
    ...filesIn(join(runs, 'chats'))
      .filter((name) => name.endsWith('.message'))
      .map((name) => join(runs, 'chats', name)),
    join(runs, 'chats.jsonl'),
  ]
  return texts.some((file) => existsSync(file) && readFileSync(file, 'utf8').includes(second))
}

function runsOf(world: World): string {
  const runs = join(world.home, 'state/runs')
  return join(runs, filesIn(runs)[0] ?? 'none')
}

function filesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}
