import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { StopSignal } from '../../src/base/error.ts'
import { promptSource, type PromptSource, readPromptInput } from '../../src/cli/prompt-source.ts'

const signal = new AbortController().signal

function source(
  flags: { file?: string; prompt?: string; open?: boolean },
  input = 'from stdin\n',
): Promise<PromptSource> {
  const { file = '', prompt, open = false } = flags
  return promptSource({ file, prompt, open }, { input: () => Readable.from([Buffer.from(input)]), signal })
}

describe('what baton run runs', () => {
  it('is a file, the text of -p, or standard input', async () => {
    expect(await source({ file: 'a.md' })).toEqual({ file: 'a.md' })
    expect(await source({ prompt: 'Hi' })).toEqual({ file: '-p', text: 'Hi' })
    expect(await source({ file: '-' })).toEqual({ file: 'stdin', text: 'from stdin\n' })
  })

  it.each([
    [{ file: 'a.md', prompt: 'Hi' }, '-p and a file cannot be combined'],
    [{ file: '-', prompt: 'Hi' }, '-p and - cannot be combined'],
    [{ prompt: ' ' }, '-p is empty'],
    [{ prompt: 'Hi', open: true }, '-o needs a file to open'],
    [{ file: '-', open: true }, '-o needs a file to open'],
  ])('is exactly one of them: %j', async (flags, message) => {
    await expect(source(flags)).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining(message) })
  })

  it('does not touch standard input for anything but -', async () => {
    const input = (): Readable => {
      throw new Error('stdin was asked for')
    }
    await expect(
      promptSource({ file: 'a.md', prompt: undefined, open: false }, { input, signal }),
    ).resolves.toBeDefined()
    await expect(promptSource({ file: '', prompt: 'x', open: false }, { input, signal })).resolves.toBeDefined()
  })
})

describe('standard input', () => {
  it('is read to its end, characters cut between chunks included', async () => {
    const bytes = Buffer.from('Grüße\n')
    const stream = Readable.from([bytes.subarray(0, 3), bytes.subarray(3)])
    expect(await readPromptInput(stream, signal)).toBe('Grüße\n')
    expect(stream.destroyed).toBe(true)
  })

  it.each([
    ['binary data', [Buffer.from('a\0b')], 'stdin holds a NUL byte; it looks binary (byte 1)'],
    ['other encodings', [Buffer.from([0x61, 0xff])], 'stdin holds a byte that is not UTF-8 (byte 1)'],
    ['nothing', [Buffer.from('\n \n')], 'standard input is empty'],
  ])('is refused with %s', async (_, chunks, message) => {
    await expect(readPromptInput(Readable.from(chunks), signal)).rejects.toMatchObject({
      code: 'FILE_UNREADABLE',
      message,
    })
  })

  it('is not read further than 10 MB', async () => {
    let given = 0
    function* endless(): Generator<Buffer> {
      for (;;) {
        given += 1
        yield Buffer.alloc(1024 * 1024, 'a')
      }
    }
    const stream = Readable.from(endless())
    await expect(readPromptInput(stream, signal)).rejects.toThrow('standard input has more than 10 MB')
    expect(given).toBeLessThan(40)
    expect(stream.destroyed).toBe(true)
  })

  it('is left when the run is stopped', async () => {
    const stop = new AbortController()
    const stream = new Readable({ read() {} })
    const reading = readPromptInput(stream, stop.signal)
    stop.abort(new StopSignal('SIGINT', 130))
    await expect(reading).rejects.toThrow('stopped by SIGINT')
    expect(stream.destroyed).toBe(true)
  })

  it('that fails is named', async () => {
    const stream = new Readable({ read: () => stream.destroy(new Error('EIO')) })
    await expect(readPromptInput(stream, signal)).rejects.toThrow('standard input cannot be read: EIO')
  })
})
