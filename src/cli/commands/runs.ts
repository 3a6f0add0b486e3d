import { BatonError } from '../../base/error.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { runsFolder } from '../../journal/run-id.ts'
import type { RunStatus } from '../../journal/summary.ts'
import { createPaint, type Paint } from '../../render/style.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface RunsFlags extends GlobalFlags {
  readonly action: 'list' | 'show' | 'diff' | 'export' | 'rm'
  /** The words behind the action. */
  readonly runs: readonly string[]
  readonly ids: boolean
  readonly limit: string | undefined
  readonly file: string | undefined
  readonly status: RunStatus | undefined
  readonly place: string | undefined
  readonly all: boolean
  readonly older: string | undefined
  readonly failed: boolean
  readonly dryRun: boolean
}

/** What every action of `baton runs` is given. */
export interface RunsContext {
  readonly io: CommandIo
  /** Where the runs are. */
  readonly folder: string
  readonly workspace: string
  readonly cwd: string
  readonly paint: Paint
}

/** Flags by the actions they belong to. */
const owners: { readonly [flag: string]: readonly RunsFlags['action'][] } = {
  ids: ['list'],
  limit: ['list'],
  file: ['list', 'rm'],
  status: ['list', 'rm'],
  place: ['show'],
  all: ['show', 'diff'],
  older: ['rm'],
  failed: ['rm'],
  'dry-run': ['rm'],
}

/** `baton runs [list|show|diff|export|rm]` (DESIGN 13): the history of the workspace. Gives the exit code. */
export async function runsCommand(flags: RunsFlags, io: CommandIo): Promise<number> {
  refuseForeignFlags(flags)
  const { cwd, env } = surroundings(flags, io)
  const { home } = io
  const { workspace, settings } = await loadTargetConfig({ cwd, env, home, flags: { overrides: flags.config } })
  const context: RunsContext = {
    io,
    cwd,
    workspace,
    folder: runsFolder({ env, home, workspace, runsDir: settings.runs.dir }),
    paint: createPaint({ env, isTerminal: io.outIsTerminal }),
  }
  switch (flags.action) {
    case 'list':
      return (await import('./runs-list.ts')).listRunsCommand(flags, context)
    case 'show':
      return (await import('./runs-show.ts')).showRunCommand(flags, context)
    case 'diff':
      return (await import('./runs-diff.ts')).diffRunsCommand(flags, context)
    case 'export':
      return (await import('./runs-export.ts')).exportRunCommand(flags, context)
    case 'rm':
      return (await import('./runs-rm.ts')).removeRunsCommand(flags, context)
  }
}

function refuseForeignFlags(flags: RunsFlags): void {
  const { ids, limit, file, status, place, all, older, failed, dryRun, action } = flags
  const given = { ids, limit, file, status, place, all, older, failed, 'dry-run': dryRun }
  const foreign = Object.entries(given).find(
    ([name, value]) => value !== undefined && value !== false && owners[name]?.includes(action) !== true,
  )
  if (foreign === undefined) return
  const [name] = foreign
  throw new BatonError('USAGE', `baton runs ${action} has no --${name}`, {
    hint: `It belongs to baton runs ${owners[name]?.join(' and ')}.`,
  })
}

/** Refuses another number of words than an action takes. @throws BatonError USAGE */
export function expectWords(
  { action, runs }: RunsFlags,
  { least, most, shape }: { readonly least: number; readonly most: number; readonly shape: string },
): void {
  if (runs.length >= least && runs.length <= most) return
  const what = runs.length < least ? 'something is missing' : 'this is too much'
  throw new BatonError('USAGE', `${what}: baton runs ${[action, shape].join(' ').trim()}`, {
    hint: 'See baton runs for the ids.',
  })
}
