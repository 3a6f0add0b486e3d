import type { CommandIo } from '../../../src/cli/io.ts'
import { runProgram } from '../../../src/cli/program.ts'
import { StopSignal } from '../../../src/base/error.ts'
import { FakeTerminal } from '../fake-terminal.ts'
import { tempTree } from '../temp.ts'
import type { StartChat } from './talk.ts'

/** `baton chat` in this process, on a terminal that is a stream. */
export const startInProcess: StartChat = ({ cwd, url }) => {
  const terminal = new FakeTerminal()
  const stop = new AbortController()
  const interrupts = new Set<() => boolean>()
  let output = ''
  let size = { columns: 100, rows: 30 }
  let ended: string | undefined
  const write = (text: string): void => void (output += text)
  const home = tempTree()
  const io: CommandIo = {
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      BATON_HOME: home,
      BATON_GATEWAY_URL: url,
      BATON_LOCAL_SERVERS: 'off',
      NO_COLOR: '1',
    },
    cwd,
    home,
    input: () => terminal,
    inputKind: () => 'device',
    out: write,
    err: write,
    draw: write,
    outIsTerminal: true,
    errIsTerminal: true,
    columns: () => size.columns,
    rows: () => size.rows,
    onContinue: () => () => undefined,
    signal: stop.signal,
    onInterrupt(first) {
      interrupts.add(first)
      return () => interrupts.delete(first)
    },
    interrupt() {
      if (![...interrupts].some((first) => first())) stop.abort(new StopSignal('SIGINT', 130))
    },
    suspend: () => undefined,
  }
  const running = runProgram(['chat'], io).then(
    (code) => (ended = `code ${code}`),
    (error: unknown) => (ended = String(error)),
  )
  return {
    type: (typed) => terminal.type(typed),
    resize(columns, rows) {
      size = { columns, rows }
      process.emit('SIGWINCH')
    },
    output: () => output,
    isEnded: () => ended !== undefined,
    async close() {
      stop.abort(new StopSignal('SIGTERM', 143))
      await running
    },
  }
}
