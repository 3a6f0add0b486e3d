import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

export interface CommandCall {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The content of standard input; if omitted, it is empty. What kind of file it is cannot be seen. */
  readonly input?: string
}

export interface CommandEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A process that runs the built command several times, one after the other, so that only the first run loads it. */
export interface WarmCommand {
  /** Undefined: a run is in progress, and the next one needs a separate process. */
  readonly run: (call: CommandCall) => Promise<CommandEnd> | undefined
  /**
   * Resolves once nothing that its runs have opened keeps the process alive, as nothing may after the end of a run. It
   * stays for further runs.
   * @throws Error that names what stays open, after the process was killed
   */
  readonly rest: () => Promise<void>
  /**
   * Releases the process, which must now exit on its own, as the command must after each of its runs.
   * @throws Error if it does not exit, because a run has left something open
   */
  readonly end: () => Promise<void>
}

/**
 * `command` is the path of its entry file. The process starts with the first run. `patienceMs` is how long it may take
 * to exit on a loaded machine; anything that a run leaves open stays open forever.
 */
export function createWarmCommand(command: string, { patienceMs = 20_000 } = {}): WarmCommand {
  let host: Host | undefined
  let isBusy = false

  async function runIn(used: Host, call: CommandCall): Promise<CommandEnd> {
    try {
      return await used.run(call)
    } finally {
      isBusy = false
    }
  }

  return {
    run(call) {
      if (isBusy) return undefined
      isBusy = true
      if (host === undefined || host.isOver()) host = startHost(command)
      return runIn(host, call)
    },
    rest: async () => host?.rest(patienceMs),
    end: async () => host?.end(patienceMs),
  }
}

interface Host {
  readonly run: (call: CommandCall) => Promise<CommandEnd>
  readonly isOver: () => boolean
  readonly rest: (patienceMs: number) => Promise<void>
  readonly end: (patienceMs: number) => Promise<void>
}

function startHost(command: string): Host {
  const child = fork(join(import.meta.dirname, 'command-host.mjs'), [command], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)

  return {
    async run({ args, cwd, env, input }) {
      const end = `\u0000${randomUUID()} `
      const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
      const marked = Promise.all([stdout.until(end), stderr.until(end)])
      child.send({ args, cwd, env: given, input, end })
      // a process that crashes has ended the run; its output and exit code are the result
      const rest = closed.then((code): CommandEnd => ({ code, stdout: stdout.take(), stderr: stderr.take() }))
      const done = marked.then(([out, err]): CommandEnd => ({
        code: Number(out.mark),
        stdout: out.text,
        stderr: err.text,
      }))
      return Promise.race([done, rest])
    },
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    async rest(patienceMs) {
      const told = new Promise<readonly string[]>((resolve) => {
        child.once('message', (open) => resolve(open as readonly string[]))
        void closed.then(() => resolve([]))
      })
      if (child.connected) child.send({ patienceMs })
      const open = await told
      if (open.length === 0) return
      child.kill('SIGKILL')
      await closed
      throw new Error(`a run has left something open: ${open.join(', ')}`)
    },
    async end(patienceMs) {
      if (child.connected) child.send('end')
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      await closed
      clearTimeout(timer)
      if (child.signalCode === 'SIGKILL') throw new Error('the command does not end: a run has left something open')
    },
  }
}

interface Collected {
  /** The text before a mark, and the rest of the line of the mark. */
  readonly until: (mark: string) => Promise<{ readonly text: string; readonly mark: string }>
  readonly take: () => string
}

function collect(stream: ChildProcess['stdout']): Collected {
  let text = ''
  let told: () => void = () => {}
  stream?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    told()
  })
  const take = (length: number): string => {
    const taken = text.slice(0, length)
    text = text.slice(length)
    return taken
  }
  return {
    async until(mark) {
      for (;;) {
        const at = text.indexOf(mark)
        const end = at === -1 ? -1 : text.indexOf('\n', at)
        if (end !== -1) {
          const before = take(at)
          return { text: before, mark: take(end + 1 - at).slice(mark.length, -1) }
        }
        await new Promise<void>((resolve) => (told = resolve))
      }
    },
    take: () => take(text.length),
  }
}
