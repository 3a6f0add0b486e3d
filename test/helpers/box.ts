import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { runProcess } from '../../src/base/process.ts'
import { commandEnvironment } from '../../src/base/command.ts'
import type { RunScope, RunServices } from '../../src/event/context.ts'
import { allRights } from '../../src/event/permission.ts'
import { type SandboxRights, strictestSandbox } from '../../src/event/sandbox-rights.ts'
import { startBoxed } from '../../src/tool/sandbox/run-boxed.ts'
import { testContext } from './context.ts'
import { tempTree } from './temp.ts'

/** Whether this machine can create sandboxes; where it cannot, tests that need one name it. */
export const hasBox = canBox()

function canBox(): boolean {
  try {
    execFileSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', '--unshare-user', '--disable-userns', 'true'], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}

export interface BoxWorld {
  /** Contains all the others. */
  readonly folder: string
  readonly work: string
  readonly home: string
  /** The folder for Baton's own files. */
  readonly state: string
}

export interface BoxOptions {
  readonly rights?: Partial<SandboxRights>
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  readonly home?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly scope?: Partial<RunScope>
  readonly services?: (world: BoxWorld) => Partial<RunServices>
  /** Called before the command is put into the box. */
  readonly prepare?: (world: BoxWorld) => void | Promise<void>
  readonly timeLimitMs?: number
}

export interface BoxEnd extends BoxWorld {
  readonly code: number | undefined
  readonly out: string
  readonly err: string
  readonly stopped: string | undefined
  readonly warnings: readonly string[]
  readonly timedOut: boolean
}

/** A separate world with a workspace, a home and a state folder. */
export function boxWorld({ files = {}, home = {} }: Pick<BoxOptions, 'files' | 'home'> = {}): BoxWorld {
  const within = (name: string, entries: Readonly<Record<string, string | Uint8Array>>) =>
    Object.fromEntries(
      Object.entries({ '.keep': '', ...entries }).map(([path, content]) => [`${name}/${path}`, content]),
    )
  const folder = tempTree({ ...within('work', files), ...within('home', home), 'state/state/key': 'signing key\n' })
  return { folder, work: join(folder, 'work'), home: join(folder, 'home'), state: join(folder, 'state') }
}

/** Runs a line of `sh` in a box, by default one that may write the workspace. */
export async function inBox(line: string, options: BoxOptions = {}): Promise<BoxEnd> {
  const world = boxWorld(options)
  await options.prepare?.(world)
  return runInBox(line, world, options)
}

/** The same in an existing world. */
export async function runInBox(line: string, world: BoxWorld, options: BoxOptions = {}): Promise<BoxEnd> {
  const { rights, env = {}, scope, services, timeLimitMs = 60_000 } = options
  const sandbox: SandboxRights = { ...strictestSandbox, mode: 'workspace-write', ...rights }
  const all = { ...process.env, HOME: world.home, ...env }
  const context = testContext({
    workspace: world.work,
    scope: {
      rights: { ...allRights, sandbox },
      folders: { workspace: world.work, cwd: world.work, packRoots: [], ownFolders: [world.state] },
      ...scope,
    },
    services: { env: all, ...services?.(world) },
  })
  let box: Awaited<ReturnType<typeof startBoxed>> | undefined
  const command = { command: '/bin/sh', args: ['-c', line], cwd: world.work, environment: commandEnvironment(all) }
  const result = await runProcess(
    { ...command, timeLimitMs, maxOutputBytes: 1024 * 1024 },
    context.services.signal,
    async (asked) => (box = await startBoxed(asked, context)),
  )
  return {
    ...world,
    code: result.end.kind === 'exited' ? result.end.code : undefined,
    out: result.stdout.text,
    err: result.stderr.text,
    stopped: box?.kind === 'started' ? (await box.ended).stopped : undefined,
    warnings: context.sent.flatMap((event) => (event.type === 'warning' ? [event.message] : [])),
    timedOut: result.end.kind === 'timed_out',
  }
}
