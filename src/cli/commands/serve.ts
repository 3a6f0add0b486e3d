import { defined } from '../../base/json.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace } from '../io.ts'
import { portOf, secretOf, untilStopped } from '../local-server.ts'

const usualRuns = 8

/** `baton serve`: offers the runs of the workspace to browsers and programs on this machine, until Ctrl-C. */
export async function serveCommand(flags: Flags<'serve'>, io: CommandIo): Promise<number> {
  const { env: all, cwd, home, print, note } = openWorkplace(flags, io)
  // programs started by runs must not get the secret
  const { BATON_SERVE_SECRET: given, ...env } = all
  const { model, config, timeout, open } = flags
  const port = portOf(flags.port) ?? 0
  const maxRuns = maxRunsOf(flags.maxRuns)
  const overrides = overridesOf({ config, maxCost: undefined, timeout })
  const [{ serveWorkspace }, { newSecret }] = await Promise.all([
    import('../../serve/http/serve.ts'),
    import('../../serve/listen.ts'),
  ])
  const secret = given === undefined ? newSecret() : secretOf('BATON_SERVE_SECRET', given)
  const shared = { overrides, ...defined({ model }) }
  const serving = await serveWorkspace({ cwd, home, env, shared }, { port, secret, maxRuns })
  const address = new URL(`${serving.url}/?secret=${encodeURIComponent(secret)}`)
  print({ url: address.href }, () => `${address.href}\n`)
  note('Anyone who has this address can do everything that you can do with baton here. Ctrl-C stops the server.\n')
  if (open && !(await opened(address, { env, workspace: cwd }))) note('no program to open a browser was found\n')
  await untilStopped(io)
  await serving.close()
  throw io.signal.reason
}

async function opened(
  address: URL,
  around: { readonly env: CommandIo['env']; readonly workspace: string },
): Promise<boolean> {
  return (await import('../../base/open-browser.ts')).openBrowser(address, around)
}

function maxRunsOf(given: string | undefined): number {
  if (given === undefined) return usualRuns
  if (/^[1-9]\d{0,3}$/.test(given)) return Number(given)
  throw usageError(`--max-runs takes a number from 1 to 9999, not "${given}"`, 'Write for example --max-runs 8.')
}
