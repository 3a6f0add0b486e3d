import type { Press } from './keys.ts'

/**
 * What the chat waits for: a message (`prompt`), the model (`answering`, which nothing ends but the test), the answer to
 * a question, or nothing any more.
 */
type Phase = 'prompt' | 'answering' | 'question' | 'ended'

/** What must come of the keys that were pressed, according to docs/chat.md. Nothing of the product is used here. */
export interface Expected {
  phase: Phase
  /** The line in progress, and the lines before it that ended with a backslash. */
  line: string
  before: string
  /** What has been typed into the question. */
  answer: string
  queue: string[]
  ends: boolean
  held: boolean
  /** How often a message was awaited anew. */
  prompts: number
  /** How often a question was put. */
  questions: number
  /** What the last message of the user in each request ends with. */
  requests: string[]
  /** Messages of the chat so far, which each request repeats; `/clear` begins a new one. */
  chat: string[]
  /** Messages of earlier chats, which no request repeats. */
  forgotten: string[]
  /** What `!` commands have written. */
  log: string[]
  /** Files that are there: those that were allowed to be written, and not undone. */
  files: string[]
  /** The same for each message of the chat. */
  written: string[][]
  /** The file that the question is about. */
  asked: string
  /** What the chat names as not sent. */
  unsent: string[]
}

/** A chat that has just been started: what is typed before it is ready waits like what is typed during an answer. */
export function startingChat(): Expected {
  return {
    phase: 'answering',
    line: '',
    before: '',
    answer: '',
    queue: [],
    ends: false,
    held: false,
    prompts: 0,
    questions: 0,
    requests: [],
    chat: [],
    forgotten: [],
    log: [],
    files: [],
    written: [],
    asked: '',
    unsent: [],
  }
}

/** The chat is ready, or a message is answered: what waits is sent or executed. */
export function goOn(chat: Expected): void {
  while (!chat.held) {
    const next = chat.queue.shift()
    if (next === undefined && !chat.ends) break
    if (next === undefined) return end(chat)
    carryOut(chat, next.trim())
    if (chat.phase === 'ended' || chat.phase === 'answering') return
  }
  chat.phase = 'prompt'
  chat.prompts += 1
}

function carryOut(chat: Expected, line: string): void {
  chat.phase = 'prompt'
  const [, name] = /^\/([\w:-]+)(?:\s|$)/.exec(line) ?? []
  if (line.startsWith('!')) return void chat.log.push(/echo (\w+)/.exec(line)?.[1] ?? '')
  if (name === 'exit') return end(chat)
  if (name === 'clear') {
    chat.forgotten.push(...chat.chat)
    chat.chat = []
    chat.written = []
  }
  if (name === 'undo') undo(chat)
  if (name !== undefined) return
  chat.phase = 'answering'
  chat.requests.push(line)
  chat.chat.push(line)
  chat.written.push([])
}

function undo(chat: Expected): void {
  const undone = chat.written.findLast((files) => files.length > 0) ?? []
  chat.files = chat.files.filter((file) => !undone.includes(file))
  undone.length = 0
}

function end(chat: Expected): void {
  chat.phase = 'ended'
  chat.unsent = [...chat.queue, chat.before + chat.line].filter((line) => line !== '')
}

/** The model calls a tool that needs approval. */
export function askAbout(chat: Expected, file: string): void {
  chat.phase = 'question'
  chat.questions += 1
  chat.asked = file
}

export function press(chat: Expected, one: Press): void {
  if (chat.phase === 'ended') return
  if (chat.phase === 'question') return pressInQuestion(chat, one)
  // nothing is sent after the end
  const isOver = chat.phase === 'answering' && chat.ends && !chat.held
  switch (one.kind) {
    case 'text':
      if (!isOver) chat.line += one.text
      return
    case 'back':
      if (!isOver) chat.line = chat.line.slice(0, -1)
      return
    case 'clear':
      if (!isOver) chat.line = ''
      return
    case 'enter':
      if (!isOver) pressEnter(chat)
      return
    case 'up':
      return takeBack(chat)
    case 'end':
      return pressEnd(chat)
    case 'interrupt':
      return pressInterrupt(chat)
  }
}

function pressEnter(chat: Expected): void {
  const line = chat.before + chat.line
  chat.line = ''
  chat.before = line.endsWith('\\') ? `${line.slice(0, -1)}\n` : ''
  if (chat.before === '') send(chat, line)
}

function send(chat: Expected, line: string): void {
  const lines = line.trim() === '' ? [] : [line]
  chat.queue = chat.held ? [...lines, ...chat.queue] : [...chat.queue, ...lines]
  chat.held = false
  if (chat.phase === 'prompt' && (chat.queue.length > 0 || chat.ends)) goOn(chat)
}

function takeBack(chat: Expected): void {
  if (chat.line !== '' || chat.before !== '') return
  if (chat.ends) chat.ends = false
  else chat.line = chat.queue.pop() ?? ''
  chat.held &&= chat.queue.length > 0
}

function pressEnd(chat: Expected): void {
  if (chat.line !== '') return
  const { before } = chat
  chat.before = ''
  if (before !== '') send(chat, before)
  else if (chat.phase === 'prompt') end(chat)
  else chat.ends = true
}

function pressInterrupt(chat: Expected): void {
  if (chat.phase === 'answering') {
    chat.held = chat.queue.length > 0
    goOn(chat)
  } else if (chat.line === '' && chat.before === '') chat.prompts += 1
  else {
    chat.line = ''
    chat.before = ''
  }
}

function pressInQuestion(chat: Expected, one: Press): void {
  switch (one.kind) {
    case 'text':
      chat.answer += one.text
      return
    case 'back':
      chat.answer = chat.answer.slice(0, -1)
      return
    case 'clear':
      chat.answer = ''
      return
    case 'enter':
      return answerQuestion(chat)
    case 'end':
      if (chat.answer === '') end(chat)
      return
    case 'interrupt':
      chat.answer = ''
      chat.phase = 'answering'
      return pressInterrupt(chat)
    case 'up':
  }
}

function answerQuestion(chat: Expected): void {
  const verdict = verdictOf(chat.answer)
  chat.answer = ''
  if (verdict === 'again') {
    chat.questions += 1
    return
  }
  if (verdict === 'allow') {
    chat.written.at(-1)?.push(chat.asked)
    chat.files.push(chat.asked)
  }
  chat.phase = 'answering'
  chat.requests.push(chat.requests.at(-1) ?? '')
}

function verdictOf(answer: string): 'allow' | 'deny' | 'again' {
  const text = answer.trim().toLowerCase()
  if (text === 'y' || text === 'yes') return 'allow'
  return text === 'n' || text === 'no' || /^no?[\s,:;.]+\S/.test(text) ? 'deny' : 'again'
}
