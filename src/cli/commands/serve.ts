import { readFileSync } from 'node:fs'
import { defined } from '../../base/json.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { harmless, harmlessName } from '../../base/terminal-text.ts'
import type { ServingPlace } from '../../serve/http/served-workspace.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace } from '../io.ts'
import { portOf, secretOf, untilStopped } from '../local-server.ts'
import { isTerminal, type Terminal } from '../typed-ahead.ts'

/** `baton serve`: offers the runs of the workspace to browsers and programs on this machine, until Ctrl-C. */
export async function serveCommand(flags: Flags<'serve'>, io: CommandIo): Promise<number> {
  const { env: all, cwd, home, print, note } = openWorkplace(flags, io)
  // programs started by runs must not get the secret
  const { BATON_SERVE_SECRET: given, ...env } = all
  const { model, config, timeout, open } = flags
  const port = portOf(flags.port) ?? 0
  const maxRuns = maxRunsOf(flags.maxRuns)
  const overrides = overridesOf({ config, maxCost: undefined, timeout })
  if (flags.once !== undefined) {
    const place = { cwd, home, env, shared: { overrides, ...defined({ model }) } }
    return startTrigger(flags.once, place, { io, print, note })
  }
  const [{ serveWorkspace }, { newSecret }] = await Promise.all([
    import('../../serve/http/serve.ts'),
    import('../../serve/listen.ts'),
  ])
  const secret = given === undefined ? newSecret() : secretOf('BATON_SERVE_SECRET', given)
  const shared = { overrides, ...defined({ model }) }
  const onProblem = (message: string): void => io.err(`warning: ${harmless(message)}\n`)
  const serving = await serveWorkspace({ cwd, home, env, shared }, { port, secret, onProblem, ...defined({ maxRuns }) })
  const showAddress = (): URL => {
    const address = new URL(serving.newAddress())
    print({ url: address.href, secret }, () => `${address.href}\n`)
    return address
  }
  const address = showAddress()
  const input = io.inputKind() === 'device' ? io.input() : undefined
  const terminal = input !== undefined && isTerminal(input) ? input : undefined
  const more = terminal === undefined ? '' : 'Enter prints another address, '
  note(
    `The address works once: its browser can then do everything that you can do with baton here. ${more}Ctrl-C stops the server.\n`,
  )
  if (open && !(await opened(address, { env, workspace: cwd }))) note('no program to open a browser was found\n')
  const endTyping = terminal === undefined ? undefined : onEnter(terminal, io, showAddress)
  await untilStopped(io)
  endTyping?.()
  await serving.close()
  throw io.signal.reason
}

/** `--once NAME`: returns the exit code of the run. */
async function startTrigger(
  name: string,
  place: ServingPlace,
  { io, print, note }: Pick<ReturnType<typeof openWorkplace>, 'print' | 'note'> & { readonly io: CommandIo },
): Promise<number> {
  const { startOnce } = await import('../../serve/triggers/once.ts')
  const run = await startOnce(place, {
    name,
    signal: io.signal,
    onStart: (id) => note(`trigger ${name}: run ${id} (baton runs show ${id})\n`),
  })
  const { id, file, status, exit, error } = run
  print({ trigger: name, run: id, status, exit }, () => {
    const why = error === null ? '' : `: ${harmless(error)}`
    return `${harmlessName(file)} ${status.replaceAll('_', ' ')}${why}\n`
  })
  return exit ?? 1
}

async function opened(
  address: URL,
  around: { readonly env: CommandIo['env']; readonly workspace: string },
): Promise<boolean> {
  return (await import('../../base/open-browser.ts')).openBrowser(address, around)
}

/** Calls the listener for each line that is typed. Returns the function that ends it. */
function onEnter(terminal: Terminal, { onContinue }: CommandIo, listener: () => void): () => void {
  const onData = (piece: Buffer | string): void => {
    if (piece.includes('\n')) listener()
  }
  // a process in the background that reads its terminal is stopped
  const follow = (): void => void (isInForeground() ? terminal.resume() : terminal.pause())
  terminal.on('data', onData)
  follow()
  const end = onContinue(follow)
  return () => {
    end()
    terminal.off('data', onData).pause()
  }
}

/** Whether the shell has given the terminal to this process; true where the system does not say. */
function isInForeground(): boolean {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    const [, , group, , , foreground] = fields
    return group === foreground
  } catch {
    return true
  }
}

function maxRunsOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^[1-9]\d{0,3}$/.test(given)) return Number(given)
  throw usageError(`--max-runs takes a number from 1 to 9999, not "${given}"`, 'Write for example --max-runs 8.')
}
