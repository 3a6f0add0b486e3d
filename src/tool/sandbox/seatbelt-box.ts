import { type Closers, createClosers } from '../../base/closers.ts'
import { realPath } from '../../base/files.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type Boxed, type Boxing, type Command, unseenFolder } from './boxed.ts'
import { boxEnvironment } from './environment.ts'
import { isSeen, planBox } from './plan.ts'
import { startProxy } from './proxy.ts'
import { seatbeltArguments } from './seatbelt.ts'

/** Wraps the command in a `sandbox-exec` sandbox, which does not limit memory and processes. */
export async function seatbeltBox(
  command: Command,
  { program, rights, opened }: Boxing,
  context: RunContext,
): Promise<Boxed> {
  const { network } = rights
  const cwd = realPath(command.cwd)
  const { places, missing, warnings } = await planBox(rights, { needed: [], opened: opened ?? [] }, context)
  if (!isSeen(cwd, places)) throw unseenFolder(cwd)
  for (const message of warnings) emit(context, { type: 'warning', message })
  const parts = createClosers()
  const folder = makeTemporaryFolder('baton-box-')
  parts.add(folder.remove)
  const temporary = realPath(folder.path)
  const proxy = network.length === 0 ? undefined : await openProxy(network, parts)
  const way = proxy === undefined ? {} : { proxy: `http://127.0.0.1:${proxy.port}` }
  if (opened === undefined && places.canWrite) parts.add(context.services.sources.writing(places.workspace))
  const plan = { ...places, kept: [...places.kept, ...missing], temporary }
  return {
    command: program,
    args: seatbeltArguments(command, proxy === undefined ? plan : { ...plan, proxyPort: proxy.port }),
    environment: boxEnvironment(command.environment, { cwd, temporary, ...way }),
    cwd,
    stopped: () => undefined,
    close: parts.close,
  }
}

async function openProxy(network: readonly string[], parts: Closers): Promise<{ readonly port: number }> {
  try {
    const proxy = await startProxy(network, { port: 0 })
    parts.add(proxy.close)
    return proxy
  } catch (error) {
    await parts.close()
    throw error
  }
}
