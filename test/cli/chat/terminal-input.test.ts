import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { type TerminalInput, terminalInput } from '../../../src/cli/chat/terminal-input.ts'
import { lineAsker } from '../../../src/cli/confirm.ts'
import type { CommandIo } from '../../../src/cli/io.ts'
import { FakeTerminal } from '../../helpers/fake-terminal.ts'
import { createRandom } from '../../helpers/random.ts'

interface World {
  readonly terminal: FakeTerminal
  readonly input: TerminalInput
  readonly ask: (question: string) => Promise<string | undefined>
  readonly interrupts: () => number
}

function world(typedBefore = ''): World {
  const terminal = new FakeTerminal()
  terminal.type(typedBefore)
  let interrupts = 0
  const io = {
    input: () => terminal,
    inputKind: () => 'device',
    env: {},
    errIsTerminal: true,
    err: () => undefined,
    draw: () => undefined,
    columns: () => 80,
    rows: () => 24,
    signal: new AbortController().signal,
    interrupt: () => void (interrupts += 1),
    suspend: () => undefined,
    onContinue: () => () => undefined,
  } as unknown as CommandIo
  const history: string[] = []
  const input = terminalInput({
    io,
    prompt: '> ',
    history: { lines: () => history, add: (text) => void history.push(text) },
    complete: async (text) => ({ word: text, options: [] }),
  })
  const ask = lineAsker({ ...io, askLine: input?.askLine })
  if (input === undefined || ask === undefined) throw new Error('the terminal is no terminal')
  onTestFinished(() => input.close())
  return { terminal, input, ask, interrupts: () => interrupts }
}

const never = new AbortController().signal

/** What is shown of what was typed: the queue without its title, and the line in progress. */
function typedTexts(input: TerminalInput): readonly string[] {
  const lines = input.typed().map(({ text, isQueued }) => (isQueued ? text.trim() : text))
  return lines.filter((text) => !text.startsWith('queued: '))
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn += 1) await nextTurn()
}

async function next(input: TerminalInput): Promise<string> {
  const given = await input.next(never)
  return given.kind === 'line' ? given.text : given.kind
}

/** Each word is unique, so that every key is found again exactly once. */
async function talk(seed: number): Promise<void> {
  const random = createRandom(seed)
  const { terminal, input, ask } = world()
  const expected: string[] = []
  const got: string[] = []
  const answers: { readonly given: string | undefined; readonly typed: string }[] = []
  let draft = ''
  for (let step = 0; step < 40; step += 1) {
    switch (Math.floor(random() * 5)) {
      case 0:
        draft += `w${step}`
        terminal.type(`w${step}`)
        break
      case 1:
        terminal.type('\r')
        if (draft !== '') expected.push(draft)
        draft = ''
        break
      case 2:
        draft += `p${step}a\np${step}b`
        terminal.type(`\u001b[200~p${step}a\rp${step}b\u001b[201~`)
        break
      case 3: {
        // half of the keys are still on their way when the question is about to be asked
        if (random() < 0.5) await settled()
        const asked = ask(`q${step}?`)
        await settled()
        terminal.type(`a${step}\r`)
        answers.push({ given: await asked, typed: `a${step}` })
        if (random() < 0.5) await settled()
        break
      }
      case 4:
        if (got.length < expected.length) got.push(await next(input))
    }
  }
  terminal.type('\r')
  if (draft !== '') expected.push(draft)
  while (got.length < expected.length) got.push(await next(input))
  expect({ got, answers: answers.map(({ given }) => given) }).toEqual({
    got: expected,
    answers: answers.map(({ typed }) => typed),
  })
  input.close()
}

it('every line typed before, between and after questions is its own message, in order, and never an answer', async () => {
  for (let seed = 1; seed <= 40; seed += 1) await talk(seed)
})

it('lines typed before the chat began are messages too, and a line without Enter becomes the draft', async () => {
  const { terminal, input } = world('first\nsecond\nthi')
  await settled()
  expect(typedTexts(input)).toEqual(['first', 'second', '> thi'])
  terminal.type('rd\r')
  expect([await next(input), await next(input), await next(input)]).toEqual(['first', 'second', 'third'])
})

it('a paste that ends after a question was asked belongs entirely to the draft', async () => {
  const { terminal, input, ask } = world()
  terminal.type('\u001b[200~yes\r')
  await settled()
  const asked = ask('sure?')
  await settled()
  terminal.type('y\r\u001b[201~')
  await settled()
  terminal.type('no\r')
  expect(await asked).toBe('no')
  expect(typedTexts(input)).toEqual(['> yes␊y␊'])
})

it('several keys that arrive at once, and pastes, are inserted where the cursor is', async () => {
  const { terminal, input } = world()
  terminal.type('one four')
  await settled()
  terminal.type('\u001b[D'.repeat(4))
  await settled()
  terminal.type('two ')
  await settled()
  terminal.type('\u001b[200~\u001b[31mthree\u001b[0m \u001b[201~')
  await settled()
  terminal.type('\r')
  expect(await next(input)).toBe('one two three four')
})

it('a line that ends with a backslash continues on the next line, also in the queue', async () => {
  const { terminal, input } = world()
  terminal.type('one \\\rtwo\r/cost\r')
  await settled()
  expect(typedTexts(input)).toEqual(['one ␊two', '/cost'])
  expect([await next(input), await next(input)]).toEqual(['one \ntwo', '/cost'])
})

it('Ctrl-C during an answer holds the queue until Enter, and what is sent meanwhile comes first', async () => {
  const { terminal, input, interrupts } = world()
  terminal.type('one\rtwo\rdraft')
  await settled()
  terminal.type('\u0003')
  await settled()
  expect(interrupts()).toBe(1)
  expect(typedTexts(input)).toEqual(['one', 'two', '> draft'])
  expect(input.held()).toEqual(['queued: 2 · Enter sends them, Up takes the last one back', '  one', '  two'])
  const first = next(input)
  terminal.type('\r')
  expect([await first, await next(input)]).toEqual(['draft', 'one'])
  terminal.type('\u0003')
  await settled()
  expect(input.held()).toHaveLength(2)
  terminal.type(' \r')
  expect(await next(input)).toBe('two')
  expect(input.held()).toEqual([])
})

it('Ctrl-C at a question stops its message and holds the queue', async () => {
  const { terminal, input, ask, interrupts } = world()
  terminal.type('one\r')
  const asked = ask('sure?')
  await settled()
  terminal.type('half\u0003')
  await settled()
  expect(interrupts()).toBe(1)
  expect(input.held()).toHaveLength(2)
  terminal.type('y\r')
  expect(await asked).toBe('halfy')
})

it('Up on an empty line takes the newest of the queue back to change it, then recalls earlier input', async () => {
  const { terminal, input } = world()
  const up = '\u001b[A'
  terminal.type(`one\rtwo\rthree${up}`)
  await settled()
  // not over a line in progress
  expect(typedTexts(input).slice(0, 2)).toEqual(['one', 'two'])
  terminal.type(`\u0015${up}`)
  await settled()
  expect(typedTexts(input)).toEqual(['one', '> two'])
  terminal.type(`!\r${up}\u0015${up}`)
  await settled()
  expect(typedTexts(input)).toEqual(['> one'])
  terminal.type(`\u0015${up}`)
  await settled()
  expect(typedTexts(input)).toEqual(['> two!'])
  terminal.type('\r')
  expect(await next(input)).toBe('two!')
})

it('Ctrl-D during an answer ends the chat after the queue; Up takes it back, and Ctrl-C still stops the answer', async () => {
  const { terminal, input, interrupts } = world()
  terminal.type('one\r\u0004lost\r')
  await settled()
  expect(typedTexts(input)).toEqual(['one', 'then the chat ends'])
  terminal.type('\u001b[Atwo\r\u0004\u0003')
  await settled()
  expect(interrupts()).toBe(1)
  expect(typedTexts(input)).toEqual(['one', 'two', 'then the chat ends'])
  terminal.type('\r')
  await settled()
  expect([await next(input), await next(input), await next(input), await next(input)]).toEqual([
    'one',
    'two',
    'end',
    'end',
  ])
})

it('Ctrl-D at a question ends the chat, and what was not sent is known', async () => {
  const { terminal, input, ask } = world()
  terminal.type('one\rdraft')
  const asked = ask('sure?')
  await settled()
  terminal.type('\u0004')
  expect(await asked).toBeUndefined()
  expect(await ask('and now?')).toBeUndefined()
  expect(await next(input)).toBe('end')
  expect(input.unsent()).toEqual(['one', 'draft'])
})

it('Ctrl-C on an empty line is reported, and otherwise clears the line', async () => {
  const { terminal, input } = world()
  const first = next(input)
  terminal.type('draft\u0003')
  await settled()
  terminal.type('\u0003')
  expect(await first).toBe('interrupt')
  expect(typedTexts(input)).toEqual([])
})

it('text typed after an answer becomes the draft again', async () => {
  const { terminal, input, ask } = world()
  const asked = ask('sure?')
  await settled()
  terminal.type('y\rand then\rmo')
  expect(await asked).toBe('y')
  await settled()
  expect(typedTexts(input)).toEqual(['and then', '> mo'])
})
