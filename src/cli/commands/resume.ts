import { join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findRun, runIds } from '../../journal/find-run.ts'
import { runEdges } from '../../journal/edges.ts'
import { resumeRun } from '../../wiring/resume.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'
import { costLimit, openResult, presentRun } from '../present-run.ts'
import { runsFolderOf } from '../runs-folder.ts'

export interface ResumeFlags extends GlobalFlags {
  readonly run: string | undefined
  readonly isLast: boolean
  readonly from: string | undefined
  readonly usesCurrent: boolean
  readonly uncertain: readonly string[]
  readonly repair: boolean
  readonly maxCost: string | undefined
  readonly output: string | undefined
}

/** `baton resume RUN|--last` (DESIGN 11, 13): goes on with a run; gives its exit code. */
export async function resumeCommand(flags: ResumeFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const { from, usesCurrent, uncertain, repair, output, json, level } = flags
  const overrides = [...flags.config, ...costLimit(flags.maxCost)]
  const folder = await askedRun(await runsFolderOf(flags, io), flags)
  const result = openResult({ output, file: '', json, level }, { ...io, cwd })
  const report = await presentRun({ flags, env, result }, io, (listener) =>
    resumeRun(
      {
        folder,
        env,
        home: io.home,
        signal: io.signal,
        usesCurrent,
        uncertain,
        repair,
        overrides,
        ...(from === undefined ? {} : { from }),
      },
      listener,
    ),
  )
  return report.exitCode
}

async function askedRun(folder: string, { run, isLast }: Pick<ResumeFlags, 'run' | 'isLast'>): Promise<string> {
  if (run !== undefined && isLast) {
    throw new BatonError('USAGE', '--last and a run are both given', { hint: 'Leave one of them out.' })
  }
  if (run !== undefined && run !== 'last') return findRun(folder, run)
  if (run === undefined && !isLast)
    throw new BatonError('USAGE', 'name a run, or say last', { hint: 'See baton runs.' })
  for (const id of runIds(folder)) {
    const edges = await runEdges(join(folder, id))
    const end = edges?.last
    if (edges !== undefined && !(end?.k === 'run.end' && end.exit === 0)) return join(folder, id)
  }
  throw new BatonError('USAGE', 'no run of this workspace is left to go on with', { hint: 'See baton runs.' })
}
