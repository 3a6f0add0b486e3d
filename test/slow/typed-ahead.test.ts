import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { root } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux, type Screen } from '../helpers/tmux.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

const patience = { timeout: 20_000, interval: 50 }
const writes = callsTools(['write', { path: 'new.txt', content: 'x\n' }])

interface Typing extends Screen {
  readonly model: ToolModel
  readonly cwd: string
  readonly isWritten: () => boolean
  /** The messages of the user in the latest request. */
  readonly said: () => readonly unknown[]
  readonly asked: (count: number) => Promise<void>
  readonly until: (line: string | RegExp) => Promise<void>
}

/** Starts `baton …` on a terminal; the first reply comes when `open` is called. */
async function typing(
  command: string,
  replies: readonly ModelReply[],
  files: Readonly<Record<string, string>> = {},
): Promise<Typing & { readonly open: () => void }> {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  onTestFinished(() => open())
  const [first, ...others] = replies
  const model = await startToolModel([{ ...first, gate } as ModelReply, ...others])
  const cwd = tempTree({ '.git/HEAD': '', 'baton.toml': 'model = "m"\n', ...files })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree(), BATON_LOCAL_SERVERS: 'off', NO_COLOR: '1' }
  const screen = inTmux(`'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' ${command}`, env, cwd, 50)
  return {
    ...screen,
    model,
    cwd,
    open: () => open(),
    isWritten: () => existsSync(join(cwd, 'new.txt')),
    said: () =>
      (model.requests.at(-1)?.body?.messages ?? []).filter(({ role }) => role === 'user').map(({ content }) => content),
    asked: (count) => vi.waitFor(() => expect(model.requests).toHaveLength(count), patience),
    until: (line) => {
      const wanted = typeof line === 'string' ? line : expect.stringMatching(line)
      return vi.waitFor(() => expect(screen.lines()).toContainEqual(wanted), patience)
    },
  }
}

const question = /^allow it\? .*: $|^allow it\? .*:$/

it.skipIf(!hasTmux)(
  'a draft does not answer the question that appears over it, and is restored after it (needs tmux)',
  async () => {
    const chat = await typing('chat', [writes, { text: 'Made.' }, { text: 'Fine.' }])
    await chat.until('>')
    chat.type('make it', 'Enter')
    await chat.asked(1)
    chat.type('yes')
    await chat.until(/^ *> yes$/)
    chat.open()
    await chat.until(question)
    chat.type('Enter')
    // the same question again: an empty line is no answer
    await vi.waitFor(() => expect(chat.lines().filter((line) => question.test(line))).toHaveLength(2), patience)
    expect(chat.isWritten()).toBe(false)
    chat.type('y', 'Enter')
    await chat.until('Made.')
    expect(chat.isWritten()).toBe(true)
    await chat.until('> yes')
    chat.type(', please', 'Enter')
    await chat.until('Fine.')
    expect(chat.said()).toEqual(['make it', 'yes, please'])
  },
)

it.skipIf(!hasTmux)(
  'lines typed during an answer are sent one by one in order, and commands among them are executed (needs tmux)',
  async () => {
    const chat = await typing('chat', [
      { text: 'One.' },
      { text: 'Two.' },
      { text: 'Three.' },
      { text: 'Four.' },
      { text: 'Five.' },
    ])
    await chat.until('>')
    chat.type('first', 'Enter')
    await chat.asked(1)
    chat.type('/cost', 'Enter', 'second', 'Enter', '/undo', 'Enter', 'third', 'Enter')
    chat.paste('fourth\nin two lines')
    chat.type('Enter', '/clear', 'Enter', 'fifth', 'Enter')
    chat.open()
    await chat.until('Five.')
    expect(chat.said()).toEqual(['fifth'])
    expect(chat.model.requests.at(-2)?.body?.messages.filter(({ role }) => role === 'user')).toMatchObject(
      ['first', 'second', 'third', 'fourth\nin two lines'].map((content) => ({ content })),
    )
    const lines = chat.lines()
    expect(lines).toContainEqual(expect.stringMatching(/^1 message · 1 model call/))
    expect(lines).toContain('no message of this chat has file changes left to undo')
    expect(lines).toContain('> fourth␊in two lines')
  },
)

it.skipIf(!hasTmux)(
  'a line sent before a question waits until the question is answered, and Ctrl-C holds it until Enter (needs tmux)',
  async () => {
    const chat = await typing('chat', [writes, { text: 'Understood.' }, { text: 'Later.' }])
    await chat.until('>')
    chat.type('make it', 'Enter')
    await chat.asked(1)
    chat.type('y', 'Enter')
    chat.open()
    await chat.until(question)
    expect(chat.isWritten()).toBe(false)
    chat.type('C-c')
    await chat.until('queued: 1 · Enter sends it, Up takes the last one back')
    await chat.until('>')
    expect(chat.model.requests).toHaveLength(1)
    chat.type('Enter')
    await chat.until('Understood.')
    expect(chat.isWritten()).toBe(false)
    expect(chat.said()).toEqual(['make it', 'y'])
  },
)

it.skipIf(!hasTmux)(
  'the queue is shown below the answer, Up takes its newest line back, and what is left when the chat ends is named (needs tmux)',
  async () => {
    const chat = await typing('chat', [{ text: 'One.' }, { text: 'Two.' }])
    await chat.until('>')
    chat.type('first', 'Enter')
    await chat.asked(1)
    chat.type('second', 'Enter', 'third', 'Enter', 'draft')
    await chat.until('> draft')
    expect(chat.lines().slice(-4)).toEqual(['queued: 2 · Up takes the last one back', ' second', ' third', '> draft'])
    chat.type('C-u', 'Up', 'BSpace')
    await chat.until('> thir')
    chat.type('Enter')
    await chat.until(' thir')
    chat.type('C-u', 'C-d')
    await chat.until(' then the chat ends')
    chat.type('C-c')
    await chat.until('>')
    chat.type('/exit', 'Enter')
    await chat.until('code 0')
    expect(chat.lines()).toEqual(expect.arrayContaining(['not sent: second', 'not sent: thir']))
    expect(chat.model.requests).toHaveLength(1)
  },
)

it.skipIf(!hasTmux)(
  'an answer typed at once has its line break, and Ctrl-D leaves the shell a line of its own (needs tmux)',
  async () => {
    const chat = await typing('chat', [writes, { text: 'Made.' }])
    await chat.until('>')
    chat.type('make it', 'Enter')
    await chat.asked(1)
    chat.open()
    await chat.until(question)
    chat.type('y', 'Enter', 'C-d')
    await chat.until('code 0')
    const lines = chat.lines()
    expect(lines).toContainEqual(expect.stringMatching(/^allow it\? .*: y$/))
    expect(lines).toContain('Made.')
    expect(lines.slice(-2)).toEqual([expect.stringMatching(/^continue: baton chat --resume /), 'code 0'])
  },
)

it.skipIf(!hasTmux)('Ctrl-C stops a command of the user, and the chat stays (needs tmux)', async () => {
  const chat = await typing('chat', [{ text: 'Here.' }])
  chat.open()
  await chat.until('>')
  chat.type('!touch begun; sleep 60', 'Enter')
  await vi.waitFor(() => expect(existsSync(join(chat.cwd, 'begun'))).toBe(true), patience)
  chat.type('C-c')
  await chat.until('stopped')
  chat.type('hello', 'Enter')
  await chat.until('Here.')
})

it.skipIf(!hasTmux)(
  'in a run, text typed before a question or during another one does not answer it (needs tmux)',
  async () => {
    const twice = callsTools(
      ['write', { path: 'new.txt', content: 'x\n' }],
      ['write', { path: 'more.txt', content: 'x\n' }],
    )
    const run = await typing('a.md', [twice, { text: 'Done.' }], {
      'a.md': '+++\nmodel = "m"\ntools = ["write"]\nwrite_mode = "ask"\n+++\nWrite.\n',
    })
    await run.asked(1)
    run.type('y', 'Enter', 'y', 'Enter', 'ye')
    // the terminal shows what it has received
    await run.until(/ye$/)
    run.open()
    await run.until(question)
    // calls of one answer are asked about in the order in which they are ready
    const written = () => ['new.txt', 'more.txt'].filter((name) => existsSync(join(run.cwd, name)))
    expect(written()).toEqual([])
    run.type('y', 'Enter', 'y', 'Enter')
    await vi.waitFor(() => expect(run.lines().filter((line) => line.startsWith('allow it?'))).toHaveLength(2), patience)
    await vi.waitFor(() => expect(written()).toHaveLength(1), patience)
    expect(run.lines().at(-1)).toMatch(/^allow it\?/)
    expect(written()).toHaveLength(1)
    run.type('n', 'Enter')
    await run.until('code 0')
    expect(written()).toHaveLength(1)
  },
)

it.skipIf(!hasTmux)('a question for trust ignores text typed before it (needs tmux)', async () => {
  const run = await typing('ask.md', [{ text: 'Done.' }], {
    'baton.toml': '[providers.box]\nbase_url = "http://127.0.0.1:9/v1"\n',
    'ask.md': '+++\nmodel = "offline::extractive"\n+++\nHello.\n',
  })
  run.type('y', 'Enter')
  await run.until(/\[y\/N\]$/)
  run.type('n', 'Enter')
  await run.until('code 6')
})

it.skipIf(!hasTmux)('a shortened call is shown completely before it can be allowed (needs tmux)', async () => {
  const command = 'touch new.txt'
  const lines = Array.from({ length: 45 }, (_, at) => (at === 30 ? command : 'true'))
  const hidden = callsTools(['bash', { description: 'Lists the files.', command: lines.join('\n') }])
  const run = await typing('a.md', [hidden, { text: 'Done.' }], {
    'a.md': '+++\nmodel = "m"\ntools = ["bash"]\nwrite_mode = true\n+++\nList.\n',
  })
  run.open()
  await run.until(/^allow it\?/)
  expect(run.lines().join('\n')).not.toContain(command)
  run.type('y', 'Enter')
  await run.until(`    ${command}`)
  await vi.waitFor(() => expect(run.lines().at(-1)).toMatch(/\[s]how all, \[\?]:$/), patience)
  expect(run.isWritten()).toBe(false)
  run.type('y', 'Enter')
  await run.until('code 0')
  expect(run.isWritten()).toBe(true)
})
