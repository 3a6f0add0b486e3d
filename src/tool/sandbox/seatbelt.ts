import { type Closers, createClosers } from '../../base/closers.ts'
import { realPath } from '../../base/files.ts'
import { makeTemporaryFolder } from '../../base/temporary-folder.ts'
import { emit } from '../../event/context.ts'
import { type BoxContext, type Boxed, type Boxing, type Command, hiddenFolderError } from './boxed-command.ts'
import { boxEnvironment } from './environment.ts'
import { isSeen, planBox } from './plan.ts'
import { startProxy } from './proxy.ts'
import type { BoxPlan } from './bwrap.ts'

/** Wraps the command in a `sandbox-exec` sandbox, which does not limit memory and processes. */
export async function seatbeltBox(
  command: Command,
  { program, rights, opened }: Boxing,
  context: BoxContext,
): Promise<Boxed> {
  const { network } = rights
  const cwd = realPath(command.cwd)
  const { places, missing, warnings } = await planBox(rights, { needed: [], opened: opened ?? [] }, context)
  if (!isSeen(cwd, places)) throw hiddenFolderError(cwd)
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

/** What a sandbox on macOS is built from. */
export interface SeatbeltPlan extends Pick<
  BoxPlan,
  'workspace' | 'canWrite' | 'kept' | 'hiddenFiles' | 'hiddenFolders'
> {
  /** For temporary files; absolute, links resolved. */
  readonly temporary: string
  /** The only port that can be reached, on this machine; none if omitted. */
  readonly proxyPort?: number
}

/** The arguments of `sandbox-exec` for a command. */
export function seatbeltArguments(
  { command, args }: Pick<Command, 'command' | 'args'>,
  plan: SeatbeltPlan,
): readonly string[] {
  return ['-p', seatbeltProfile(plan), command, ...args]
}

/**
 * The profile of `sandbox-exec`: everything is denied unless allowed, and the last matching rule decides. Paths that do
 * not exist yet are protected as well, because rules match paths.
 */
export function seatbeltProfile({ workspace, canWrite, temporary, proxyPort, ...plan }: SeatbeltPlan): string {
  const { kept, hiddenFiles, hiddenFolders } = plan
  const hidden = [...hiddenFiles.map((path) => literal(path)), ...hiddenFolders.map((path) => subpath(path))]
  const writable = [temporary, ...(canWrite ? [workspace] : [])]
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork sysctl-read file-read*)',
    '(allow signal (target same-sandbox))',
    '(allow ipc-posix-sem ipc-posix-shm* pseudo-tty)',
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty") (literal "/dev/ptmx"))',
    `(allow file-write* ${writable.map(subpath).join(' ')})`,
    // hard links to and renames of protected paths count as writes, too
    ...kept.map((path) => `(deny file-write* ${subpath(path)})`),
    ...hidden.map((path) => `(deny file-read* file-write* ${path})`),
    ...(proxyPort === undefined ? [] : [`(allow network-outbound (remote ip "localhost:${proxyPort}"))`]),
  ].join('\n')
}

function subpath(path: string): string {
  return `(subpath ${quoted(path)})`
}

function literal(path: string): string {
  return `(literal ${quoted(path)})`
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
