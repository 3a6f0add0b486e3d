import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ModelReply, type ModelServer, startModelServer } from '../model-server.ts'
import { createRandom, oneOf, type Random } from '../random.ts'
import { tempTree } from '../temp.ts'
import { callsTools } from '../tool-model.ts'
import { askAbout, goOn, press, startingChat } from './expected.ts'
import { keys, pasted, pressesOf } from './keys.ts'

/** A chat on a terminal. */
interface ChatOnTerminal {
  readonly type: (typed: string) => void
  readonly resize: (columns: number, rows: number) => void
  /** Everything that the chat has written to the terminal. */
  readonly output: () => string
  readonly isEnded: () => boolean
  readonly close: () => Promise<void> | void
}

export type StartChat = (place: { readonly cwd: string; readonly url: string }) => ChatOnTerminal

const awaited = '\u001b[?2004h'
const question = /allow it\?/
/** The editor also draws a question again with each key, in as many lines as it needs; this is what Enter draws. */
const questionAfterEnter = /\r\n[^]*allow it\?/
const refreshed = '\u001b[0J'
const hint = 'Ctrl-D or /exit ends the chat.'
const patienceMs = 60_000
const commands = ['/cost', '/clear', '/undo', '/nope', '/exit']

/** A model that answers only when it is told to. */
interface GatedModel extends ModelServer {
  readonly answer: (reply: ModelReply) => void
  /** From now on it answers at once. */
  readonly openWith: (reply: () => ModelReply) => void
}

async function startGatedModel(): Promise<GatedModel> {
  let waiting: ((reply: ModelReply) => void) | undefined
  let always: (() => ModelReply) | undefined
  const server = await startModelServer(() => {
    if (always !== undefined) return always()
    return new Promise<ModelReply>((resolve) => (waiting = resolve))
  })
  return {
    ...server,
    answer: (reply) => waiting?.(reply),
    openWith(reply) {
      always = reply
      waiting?.(reply())
    },
  }
}

/**
 * Talks with a chat: presses keys, answers as the model and resizes the terminal, at random, and compares what the chat
 * does with what must come of it.
 */
class Talk {
  /** What was done, for messages. */
  readonly steps: string[] = []
  private readonly expected = startingChat()
  private model!: GatedModel
  private chat!: ChatOnTerminal
  private words = 0
  private readonly random: Random
  private readonly cwd: string
  private columns = 100
  /** How often the terminal was taken and a message awaited before the first step. */
  private awaitedBefore = 1
  /** What shows in the output that the question is put, and from where. */
  private asked = { from: 0, as: question }

  constructor(random: Random, cwd: string) {
    this.random = random
    this.cwd = cwd
  }

  get isEnded(): boolean {
    return this.expected.phase === 'ended'
  }

  async open(start: StartChat): Promise<void> {
    this.model = await startGatedModel()
    this.chat = start({ cwd: this.cwd, url: this.model.url })
    const early = this.random() < 0.4 ? this.keysOf(['word', 'enter', 'word', 'enter', 'word']) : ''
    this.type(early)
    goOn(this.expected)
    await this.settle()
    // the chat may have been ready before the keys, or after them
    this.awaitedBefore = this.awaited() - this.expected.prompts
  }

  async close(): Promise<void> {
    await this.chat.close()
    await this.model.close()
  }

  /** One interleaving: some steps, each of which is checked. */
  async interleave(steps: number): Promise<void> {
    for (let step = 0; step < steps && !this.isEnded; step += 1) {
      try {
        await this.step()
        await this.settle()
      } catch (error) {
        const chat = JSON.stringify(this.expected, undefined, 1)
        const shown = JSON.stringify(this.chat.output().slice(-1500))
        throw new Error(`${(error as Error).message}\n${this.steps.join('\n')}\n${chat}\n${shown}`, { cause: error })
      }
    }
  }

  /**
   * Presses keys without waiting for anything, while the model answers and asks by itself, and ends the chat. What comes of
   * it is not known, but no word is sent twice, or together with words of another line, and no question was agreed to.
   */
  async rush(): Promise<void> {
    const { model, chat, random } = this
    model.openWith(() =>
      this.chance(0.4) ? callsTools(['write', { path: 'never.txt', content: 'x\n' }]) : { text: 'Yes.' },
    )
    let lineNumber = 0
    const lineOf = new Map<string, number>()
    const newWord = (): string => {
      const word = `r${lineOf.size}.`
      lineOf.set(word, lineNumber)
      return word
    }
    for (let press = 0; press < 30; press += 1) {
      const at = random()
      if (at < 0.35) chat.type(newWord())
      else if (at < 0.6) {
        lineNumber += 1
        chat.type(keys.enter)
      } else if (at < 0.75) chat.type(keys.interrupt)
      else if (at < 0.8) chat.type(keys.clear)
      else if (at < 0.85) chat.type(pasted(`${newWord()}\n${newWord()}`))
      else if (at < 0.9) chat.resize(40 + Math.floor(random() * 60), 20)
      else await sleep(Math.floor(random() * 60))
    }
    await this.leave()
    const messages = new Set(
      model.requests.flatMap(({ body }) => (body?.messages ?? []).filter(isOfUser)).map(({ content }) => content),
    )
    const sent = [...messages].map((text) => [...text.matchAll(/r\d+\./g)].map(([word]) => word))
    for (const words of sent) {
      if (new Set(words.map((word) => lineOf.get(word))).size > 1)
        throw new Error(`lines were sent together: ${words.join(' ')}`)
    }
    const all = sent.flat()
    const twice = all.find((word, at) => all.indexOf(word) !== at)
    if (twice !== undefined) throw new Error(`sent twice: ${twice} in ${JSON.stringify([...messages])}`)
    // an `/undo` may have waited
    const unexpected = this.files().filter((file) => !this.expected.files.includes(file))
    same(unexpected, [], 'files that nobody agreed to')
  }

  /** Ends the chat from wherever it is: a question does not take `/exit` for an answer. */
  private async leave(): Promise<void> {
    const begin = performance.now()
    while (!this.chat.isEnded()) {
      if (performance.now() - begin > patienceMs) {
        throw new Error(`the chat does not end: ${JSON.stringify(this.chat.output().slice(-1500))}`)
      }
      this.chat.type(keys.interrupt)
      await sleep(50)
      this.chat.type(`/exit${keys.enter}`)
      await sleep(200)
    }
  }

  private files(): readonly string[] {
    return readdirSync(this.cwd)
      .filter((name) => name.endsWith('.txt'))
      .toSorted()
  }

  private awaited(): number {
    return this.chat.output().split(awaited).length - 1
  }

  private chance(share: number): boolean {
    return this.random() < share
  }

  private type(typed: string): void {
    const { questions } = this.expected
    const from = this.chat.output().length
    let sent = ''
    for (const one of pressesOf(typed)) {
      // what comes after the end is not for the chat
      if (this.isEnded) break
      sent += one.raw
      press(this.expected, one)
    }
    if (this.expected.questions > questions) this.asked = { from, as: questionAfterEnter }
    if (sent === '') return
    this.steps.push(`type ${JSON.stringify(sent)}`)
    this.chat.type(sent)
  }

  private word(): string {
    if (this.chance(0.2)) return oneOf(this.random, ['y', 'yes', 'n', 'no, because ', 'a b '])
    this.words += 1
    return `w${this.words} `
  }

  private keysOf(kinds: readonly ('word' | 'enter' | 'paste' | 'back' | 'clear' | 'command' | 'backslash')[]): string {
    return kinds
      .map((kind) => {
        switch (kind) {
          case 'word':
            return this.word()
          case 'paste':
            return pasted(`${this.word()}\n${this.word()}`)
          case 'backslash':
            return `\\${keys.enter}`
          case 'command':
            return oneOf(this.random, commands.slice(0, this.chance(0.05) ? 5 : 4)) + keys.enter
          default:
            return keys[kind]
        }
      })
      .join('')
  }

  /** Several keys at once. Nothing is after an Enter that puts the question again: when that is shown is not known. */
  private burst(): string {
    const all = ['word', 'word', 'word', 'enter', 'enter', 'paste', 'back', 'clear', 'command', 'backslash'] as const
    const kinds = Array.from({ length: 1 + Math.floor(this.random() * 4) }, () => oneOf(this.random, all))
    const typed = this.keysOf(kinds)
    if (this.expected.phase !== 'question') return typed
    const presses = pressesOf(typed)
    const enter = presses.findIndex(({ kind }) => kind === 'enter')
    const until = enter === -1 ? presses : presses.slice(0, enter + 1)
    return until.map(({ raw }) => raw).join('')
  }

  private async step(): Promise<void> {
    const { phase, line, before, queue, ends } = this.expected
    const isEmpty = line === '' && before === ''
    const at = this.random()
    if (at < 0.08) return this.resize()
    if (at < 0.12 && isEmpty && (queue.length > 0 || ends) && phase !== 'question') return this.typeUntilShown(keys.up)
    if (at < 0.2 && phase !== 'question') return this.shellLine()
    if (phase === 'question') return this.stepInQuestion(at)
    if (phase === 'prompt') {
      if (at > 0.993) return this.type(keys.end)
      if (at > 0.93) return this.type(keys.interrupt)
      return this.typeAtPrompt(at > 0.6 ? this.word() + keys.enter : this.burst())
    }
    if (at < 0.5) return this.type(this.burst())
    if (at < 0.53) return this.type(keys.end)
    if (at < 0.64) return this.type(keys.interrupt)
    if (at < 0.7 && isEmpty && queue.length === 0 && !ends) return this.raceInterrupt()
    // sometimes with keys that are still on their way
    if (this.chance(0.5)) this.type(this.burst())
    if (this.expected.ends) return this.finish()
    return this.chance(0.5) ? this.finish() : this.ask()
  }

  private stepInQuestion(at: number): void {
    if (at > 0.98) return this.type(keys.end)
    if (at > 0.9) return this.type(keys.interrupt)
    if (at < 0.6)
      return this.type(`${keys.clear}${oneOf(this.random, ['y', 'yes', 'n', 'no, because it is'])}${keys.enter}`)
    this.type(this.burst())
  }

  private shellLine(): void {
    if (this.expected.line !== '' || this.expected.before !== '') return this.type(keys.clear)
    this.words += 1
    // what is added to it when it is taken back is not executed
    this.type(`!echo c${this.words} >> log; exit #${keys.enter}`)
  }

  /** What follows a command in the same burst is typed while that is executed or after it: the counts of prompts differ. */
  private async typeAtPrompt(typed: string): Promise<void> {
    const { expected } = this
    const { prompts } = expected
    const from = this.chat.output().length
    this.type(typed)
    const more = expected.prompts - prompts
    if (this.isEnded || more === 0 || (more === 1 && expected.phase === 'prompt')) return
    await this.typeUntilShown('', from)
    expected.prompts = this.awaited() - this.awaitedBefore
  }

  /** Types keys and a word, which shows that they have arrived. */
  private async typeUntilShown(typed: string, from = this.chat.output().length): Promise<void> {
    const word = `w${(this.words += 1)}`
    this.type(typed + word)
    await this.until(() => this.chat.output().slice(from).includes(word), 'the word is shown')
  }

  private async resize(): Promise<void> {
    const from = this.chat.output().length
    this.columns = this.columns === 100 ? 60 : 100
    this.steps.push(`resize ${this.columns}`)
    this.chat.resize(this.columns, 20 + Math.floor(this.random() * 20))
    if (this.expected.phase === 'answering') return
    await this.until(() => this.chat.output().slice(from).includes(refreshed), 'the line is drawn again')
  }

  private finish(): void {
    this.steps.push('answer')
    this.model.answer({ text: 'Answered.' })
    goOn(this.expected)
  }

  private ask(): void {
    this.words += 1
    const file = `f${this.words}.txt`
    this.steps.push(`ask ${file}`)
    this.asked = { from: this.chat.output().length, as: question }
    this.model.answer(callsTools(['write', { path: file, content: 'x\n' }]))
    askAbout(this.expected, file)
  }

  /** Ctrl-C as an answer ends, or twice: the chat stays, whatever was first. */
  private async raceInterrupt(): Promise<void> {
    const from = this.chat.output().length
    const isTwice = this.chance(0.5)
    const word = `w${(this.words += 1)}`
    this.steps.push(`${isTwice ? 'interrupt twice' : 'interrupt an end'}, type ${word}`)
    if (isTwice) this.chat.type(keys.interrupt + keys.interrupt + word)
    else {
      if (this.chance(0.5)) this.model.answer({ text: 'Answered.' })
      else this.model.answer(callsTools(['write', { path: 'never.txt', content: 'x\n' }]))
      this.chat.type(keys.interrupt)
      this.chat.type(word)
    }
    goOn(this.expected)
    for (const one of pressesOf(word)) press(this.expected, one)
    const shown = (): string => this.chat.output().slice(from)
    await this.until(() => shown().includes(word), 'the word is shown')
    this.expected.prompts += shown().split(hint).length - 1
  }

  private async until(isSo: () => boolean, what: string): Promise<void> {
    const begin = performance.now()
    while (!isSo()) {
      if (performance.now() - begin > patienceMs) throw new Error(`never came true: ${what}`)
      await sleep(2)
    }
  }

  /** Waits until the chat has done what is expected, and checks that it has done nothing else. */
  private async settle(): Promise<void> {
    const { expected, chat, model } = this
    await this.until(() => model.requests.length >= expected.requests.length, 'the model is asked')
    if (expected.phase === 'prompt') {
      await this.until(() => this.awaited() >= this.awaitedBefore + expected.prompts, 'a message is awaited')
      if (this.awaited() > this.awaitedBefore + expected.prompts) throw new Error('more messages were awaited')
    }
    if (expected.phase === 'question') {
      const { from, as } = this.asked
      await this.until(() => as.test(chat.output().slice(from)), 'the question is put')
    }
    if (expected.phase === 'ended') {
      await this.until(chat.isEnded, 'the chat ends')
      const unsent = [...chat.output().matchAll(/not sent: (.*?)\r?\n/g)].map(([, line = '']) => line.trimEnd())
      same(
        unsent,
        expected.unsent.map((line) => line.replaceAll('\n', '␊').trimEnd()),
        'what is named as not sent',
      )
    } else if (chat.isEnded()) throw new Error('the chat has ended')
    const sent = model.requests.map(({ body }) => {
      const last = body?.messages.findLast(({ role }) => role === 'user')?.content ?? ''
      return last
    })
    if (sent.length !== expected.requests.length) throw new Error(`${sent.length} requests: ${JSON.stringify(sent)}`)
    for (const [at, text] of expected.requests.entries()) {
      if (!(sent[at] ?? '').endsWith(text))
        throw new Error(`request ${at} says ${JSON.stringify(sent[at])}, not ${JSON.stringify(text)}`)
    }
    this.checkMemory()
    same(this.files(), expected.files.toSorted(), 'files')
    if (expected.phase !== 'question') same(this.log(), expected.log, 'commands')
  }

  private checkMemory(): void {
    const { chat, forgotten, phase } = this.expected
    if (phase !== 'answering') return
    const messages = (this.model.requests.at(-1)?.body?.messages ?? []).filter(isOfUser)
    const said = messages.map(({ content }) => content)
    let at = -1
    for (const text of chat) {
      at = said.findIndex((one, index) => index > at && one.endsWith(text))
      if (at === -1) throw new Error(`the request lacks ${JSON.stringify(text)}: ${JSON.stringify(said)}`)
    }
    const back = forgotten.find((text) => /w\d/.test(text) && said.includes(text))
    if (back !== undefined) throw new Error(`the request has ${JSON.stringify(back)} of the chat before`)
  }

  private log(): readonly string[] {
    try {
      return readFileSync(join(this.cwd, 'log'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    } catch {
      return []
    }
  }
}

function isOfUser({ role }: { readonly role: string }): boolean {
  return role === 'user'
}

function same(found: readonly string[], wanted: readonly string[], what: string): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`)
  }
}

/** Steps of an interleaving, and interleavings of a chat. */
const length = 12
const most = 10

export interface Talked {
  readonly interleavings: number
  readonly chats: number
  readonly steps: number
}

/**
 * Runs interleavings, several in each chat, and in some chats at last keys without waiting. The same seed presses the
 * same keys. `lanes`: how many chats at the same time.
 * @throws Error if a chat did something else than expected: what was done, and the end of the output
 */
export async function talkThrough(
  start: StartChat,
  { count, seed, lanes }: { readonly count: number; readonly seed: number; readonly lanes: number },
): Promise<Talked> {
  const problems: string[] = []
  let [chats, interleavings, steps] = [0, 0, 0]

  async function talkOnce(): Promise<void> {
    const chat = (chats += 1)
    const talk = new Talk(
      createRandom(seed * 10_000 + chat),
      tempTree({ '.git/HEAD': '', 'baton.toml': 'model = "m"\n' }),
    )
    try {
      await talk.open(start)
      for (let one = 0; one < most && interleavings < count && !talk.isEnded; one += 1) {
        interleavings += 1
        await talk.interleave(length)
      }
      if (!talk.isEnded && chat % 2 === 1) await talk.rush()
    } catch (error) {
      problems.push(`chat ${chat}: ${(error as Error).message}`)
    } finally {
      steps += talk.steps.length
      await talk.close()
    }
  }

  async function lane(): Promise<void> {
    while (interleavings < count && problems.length < 3) await talkOnce()
  }

  await Promise.all(Array.from({ length: lanes }, lane))
  if (problems.length > 0) throw new Error(problems.join('\n\n'))
  return { interleavings, chats, steps }
}

/** What was tried, for people. */
export function talkedText(where: string, { interleavings, chats, steps }: Talked): string {
  return `chat line ${where}: ${interleavings} interleavings in ${chats} chats, ${steps} steps, nothing unexpected`
}
