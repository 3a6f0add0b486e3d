import { Transform, type Writable } from 'node:stream'
import { isObject, parseSentJson } from '../../base/json.ts'

interface InputChecks {
  /** Bytes of a message. */
  readonly mostBytes: number
  readonly output: Writable
}

/** Codes of JSON-RPC. */
const codes = { notJson: -32_700, invalid: -32_600 } as const

/**
 * Passes on the lines of a client that are JSON of a usual depth and length, and answers the other ones with an error:
 * the protocol's library would end the server, or never answer.
 */
export function checkedInput({ mostBytes, output }: InputChecks): Transform {
  let begun: Buffer[] = []
  let bytes = 0

  function refuse(code: number, message: string, id: unknown = null): void {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`)
  }

  /** Adds a piece of a line, unless that has become too long. */
  function keep(piece: Buffer): void {
    bytes += piece.length
    if (bytes > mostBytes) begun = []
    else begun.push(piece)
  }

  function take(): string | undefined {
    const [line, size] = [Buffer.concat(begun).toString('utf8'), bytes]
    begun = []
    bytes = 0
    if (size > mostBytes) {
      refuse(codes.invalid, `the message has ${size} bytes; at most ${mostBytes} are read`)
      return undefined
    }
    if (line.trim() === '') return undefined
    try {
      const message = parseSentJson(line)
      if (isObject(message) && message['jsonrpc'] === '2.0') return `${line}\n`
      refuse(codes.invalid, 'the message is not an object of JSON-RPC 2.0')
      return undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const isDeep = reason.startsWith('values nested')
      if (isDeep) refuse(codes.invalid, `the message has ${reason}`, idOf(line))
      else refuse(codes.notJson, `the message is not JSON: ${reason.slice(0, 200)}`)
      return undefined
    }
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let start = 0; start < chunk.length;) {
        const newline = chunk.indexOf(0x0a, start)
        keep(chunk.subarray(start, newline === -1 ? chunk.length : newline))
        if (newline === -1) break
        start = newline + 1
        const line = take()
        if (line !== undefined) this.push(line)
      }
      done()
    },
    flush(done) {
      const line = bytes === 0 ? undefined : take()
      if (line !== undefined) this.push(line)
      done()
    },
  })
}

/** So that the client knows which of its requests has failed. */
function idOf(line: string): string | number | null {
  const message: unknown = JSON.parse(line)
  const id = isObject(message) ? message['id'] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
