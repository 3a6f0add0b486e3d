import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { joiningLines } from '../../../src/cli/chat/input.ts'
import { type TerminalInput, terminalInput } from '../../../src/cli/chat/terminal-input.ts'
import { lineAsker } from '../../../src/cli/confirm.ts'
import type { CommandIo } from '../../../src/cli/io.ts'
import { createRandom } from '../../helpers/random.ts'

/** A terminal as a program sees it: in raw mode each key, otherwise a line when it is complete, with a line feed. */
class FakeTerminal extends PassThrough {
  readonly isTTY = true
  private isRaw = false
  private kept = ''

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw
    if (isRaw && this.kept !== '') this.write(this.kept)
    if (isRaw) this.kept = ''
    return this
  }

  type(keys: string): void {
    if (this.isRaw) return void this.write(keys)
    this.kept += keys.replaceAll('\r', '\n')
    const end = this.kept.lastIndexOf('\n') + 1
    if (end === 0) return
    this.write(this.kept.slice(0, end))
    this.kept = this.kept.slice(end)
  }
}

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
  const ask = lineAsker({ ...io, lend: input?.lend })
  if (input === undefined || ask === undefined) throw new Error('the terminal is no terminal')
  onTestFinished(() => input.close())
  return { terminal, input, ask, interrupts: () => interrupts }
}

const never = new AbortController().signal

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
        expected.push(draft)
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
  expected.push(draft)
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
  expect(input.typed()).toEqual(['> first', '> second', '> thi'])
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
  expect(input.typed()).toEqual(['> yes␊y␊'])
})

it('a line that ends with a backslash continues on the next line, also in the queue', async () => {
  const { terminal, input } = world()
  terminal.type('one \\\rtwo\r/cost\r')
  const joined = joiningLines(input)
  expect(await joined.next(never)).toEqual({ kind: 'line', text: 'one \ntwo' })
  expect(await joined.next(never)).toEqual({ kind: 'line', text: '/cost' })
})

it('Ctrl-C during an answer interrupts it and keeps the queue and the draft; Ctrl-D ends the chat after the queue', async () => {
  const { terminal, input, interrupts } = world()
  terminal.type('one\rtw')
  await settled()
  terminal.type('\u0003')
  await settled()
  expect(interrupts()).toBe(1)
  expect(input.typed()).toEqual(['> one', '> tw'])
  terminal.type('o\r\u0004')
  expect([await next(input), await next(input), await next(input), await next(input)]).toEqual([
    'one',
    'two',
    'end',
    'end',
  ])
})

it('Ctrl-C on an empty line is reported, and otherwise clears the line', async () => {
  const { terminal, input } = world()
  const first = next(input)
  terminal.type('draft\u0003')
  await settled()
  terminal.type('\u0003')
  expect(await first).toBe('interrupt')
  expect(input.typed()).toEqual([])
})

it('text typed after an answer becomes the draft again', async () => {
  const { terminal, input, ask } = world()
  const asked = ask('sure?')
  await settled()
  terminal.type('y\rand then\rmo')
  expect(await asked).toBe('y')
  await settled()
  expect(input.typed()).toEqual(['> and then', '> mo'])
})
