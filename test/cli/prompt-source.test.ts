import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { StopSignal } from '../../src/base/error.ts'
import { promptSource, type PromptSource, readPromptInput } from '../../src/cli/prompt-source.ts'

const signal = new AbortController().signal

type Io = Parameters<typeof promptSource>[1]

function ioOf(io: Partial<Io> = {}): Io & { readonly said: string[] } {
  const said: string[] = []
  const input = (): Readable => {
    throw new Error('stdin was asked for')
  }
  return { input, inputKind: () => 'none', signal, err: (text) => void said.push(text), said, ...io }
}

function source(
  {
    file = '',
    prompt,
    open = false,
    stdin = false,
  }: { file?: string; prompt?: string; open?: boolean; stdin?: boolean },
  io: Io = ioOf({ input: () => Readable.from([Buffer.from('from stdin\n')]) }),
): Promise<PromptSource> {
  return promptSource({ file, prompt, open, stdin, level: 'normal' }, io)
}

/** Standard input that delivers these pieces. */
function piped(...pieces: readonly (string | Uint8Array)[]): ReturnType<typeof ioOf> {
  return ioOf({ input: () => Readable.from(pieces.map((piece) => Buffer.from(piece))), inputKind: () => 'pipe' })
}

describe('the prompt of baton run', () => {
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

  it('does not read standard input from a terminal or a closed stream', async () => {
    for (const inputKind of ['device', 'none'] as const) {
      const io = ioOf({ inputKind: () => inputKind })
      expect(await source({ file: 'a.md' }, io)).toEqual({ file: 'a.md' })
      expect(await source({ prompt: 'Hi' }, io)).toEqual({ file: '-p', text: 'Hi' })
      expect(io.said).toEqual([])
    }
  })
})

describe('standard input as context', () => {
  it.each(['pipe', 'socket', 'file'] as const)('is read beside -p when it is a %s', async (kind) => {
    const io = { ...piped('a diff\n'), inputKind: () => kind }
    expect(await source({ prompt: 'Review' }, io)).toEqual({ file: '-p', text: 'Review', stdin: 'a diff\n' })
  })

  it('is read next to a file with --stdin, and mentioned without it', async () => {
    const io = piped('a diff\n')
    expect(await source({ file: 'a.md', stdin: true }, io)).toEqual({ file: 'a.md', stdin: 'a diff\n' })
    expect(io.said).toEqual([])
    expect(await source({ file: 'a.md' }, io)).toEqual({ file: 'a.md' })
    expect(io.said.join('')).toContain('standard input is not read: add --stdin')
  })

  it('is ignored when it is empty, which is reported if it was requested', async () => {
    const io = piped()
    expect(await source({ prompt: 'Review' }, io)).toEqual({ file: '-p', text: 'Review' })
    expect(io.said).toEqual([])
    expect(await source({ file: 'a.md', stdin: true }, io)).toEqual({ file: 'a.md' })
    expect(io.said.join('')).toContain('standard input is empty')
  })

  it('is refused when it is not text, or too large', async () => {
    const unreadable = { code: 'FILE_UNREADABLE' }
    await expect(source({ prompt: 'x' }, piped(Uint8Array.of(0, 1, 2)))).rejects.toMatchObject(unreadable)
    await expect(source({ prompt: 'x' }, piped(Buffer.alloc(11e6, 'x')))).rejects.toMatchObject(unreadable)
    await expect(source({ file: '-', stdin: true })).rejects.toMatchObject({ code: 'USAGE' })
  })

  it('is ignored with a message if a pipe sends nothing in time; a pipe that has begun is read to its end', async () => {
    const silent = new Readable({ read: () => undefined })
    const slow = new Readable({ read: () => undefined })
    slow.push('first ')
    setTimeout(() => slow.push('last'), 3_200)
    setTimeout(() => slow.push(null), 3_250)
    const io = ioOf({ input: () => silent, inputKind: () => 'pipe' })
    const other = ioOf({ input: () => slow, inputKind: () => 'pipe' })
    const both = await Promise.all([source({ prompt: 'Review' }, io), source({ prompt: 'Review' }, other)])
    expect(both.map(({ stdin }) => stdin)).toEqual([undefined, 'first last'])
    expect(io.said.join('')).toContain('has sent nothing for 3 s: it is ignored')
    expect([silent.destroyed, other.said]).toEqual([true, []])
  })
})

describe('standard input', () => {
  it('is read to its end, including characters split between chunks', async () => {
    const bytes = Buffer.from('Grüße\n')
    const stream = Readable.from([bytes.subarray(0, 3), bytes.subarray(3)])
    expect(await readPromptInput(stream, signal)).toBe('Grüße\n')
    expect(stream.destroyed).toBe(true)
  })

  it.each([
    ['binary data', [Buffer.from('a\0b')], 'stdin contains a NUL byte; it looks binary (byte 1)'],
    ['other encodings', [Buffer.from([0x61, 0xff])], 'stdin contains a byte that is not UTF-8 (byte 1)'],
    ['nothing', [Buffer.from('\n \n')], 'standard input is empty'],
  ])('is refused with %s', async (_, chunks, message) => {
    await expect(readPromptInput(Readable.from(chunks), signal)).rejects.toMatchObject({
      code: 'FILE_UNREADABLE',
      message,
    })
  })

  it('is read only up to 10 MB', async () => {
    let given = 0
    function* endless(): Generator<Buffer> {
      for (;;) {
        given += 1
        yield Buffer.alloc(1024 * 1024, 'a')
      }
    }
    const stream = Readable.from(endless())
    await expect(readPromptInput(stream, signal)).rejects.toThrow('standard input is larger than 10 MB')
    expect(given).toBeLessThan(40)
    expect(stream.destroyed).toBe(true)
  })

  it('is abandoned when the run is stopped', async () => {
    const stop = new AbortController()
    const stream = new Readable({ read() {} })
    const reading = readPromptInput(stream, stop.signal)
    stop.abort(new StopSignal('SIGINT', 130))
    await expect(reading).rejects.toThrow('stopped by SIGINT')
    expect(stream.destroyed).toBe(true)
  })

  it('that fails is reported', async () => {
    const stream = new Readable({ read: () => stream.destroy(new Error('EIO')) })
    await expect(readPromptInput(stream, signal)).rejects.toThrow('standard input cannot be read: EIO')
  })
})
