import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  agentStarter,
  alreadyThere,
  configText,
  createFiles,
  type NextStep,
  packStarter,
  promptStarter,
  readPipeline,
  type Starter,
} from '../../authoring/starters.ts'
import { shellWord } from '../../base/command.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { findWorkspace, refuseHome, workspaceConfigFile } from '../../config/locate.ts'
import { packageRoot } from '../../package-root.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, openWorkplace, type Surroundings } from '../io.ts'

/** `baton new`: creates files to start from. Their paths go to stdout, the next steps to stderr. */
export async function newCommand(flags: Flags<'new'>, io: CommandIo): Promise<number> {
  const { print, note, ...around } = openWorkplace(flags, io)
  const { files, next } = starterOf(flags, around)
  createFiles(files, { within: findWorkspace(around) })
  for (const { path } of files) {
    const created = displayPath(around.cwd, path)
    print({ created }, () => `${created}\n`)
  }
  note(describeNext(next))
  return 0
}

function starterOf({ kind, name, from }: Flags<'new'>, { cwd, env, home }: Surroundings): Starter {
  if (from !== undefined && kind !== 'prompt') {
    throw usageError(
      `--from cannot be combined with new ${kind}`,
      'It copies a pipeline: baton new prompt NAME --from PIPELINE.',
    )
  }
  refuseHome(findWorkspace({ cwd, env, home }), home)
  const root = packageRoot()
  const places = { cwd, workspace: findWorkspace({ cwd, env, home }), starters: join(root, 'starters') }
  switch (kind) {
    case 'prompt':
      return promptStarter(name, from === undefined ? undefined : readPipeline(from, join(root, 'pipelines')), places)
    case 'agent':
      return agentStarter(name, places)
    case 'pack': {
      const pack = packStarter(name, places)
      if (existsSync(pack.folder) && readdirSync(pack.folder).length > 0) throw alreadyThere(pack.folder)
      return pack
    }
  }
}

function describeNext(steps: readonly NextStep[]): string {
  const width = Math.max(
    ...steps.map((step) => (step.kind === 'command' && step.note !== undefined ? step.command.length : 0)),
  )
  const lines = steps.map((step) => {
    if (step.kind === 'text') return `  ${step.text}`
    return step.note === undefined ? `  ${step.command}` : `  ${step.command.padEnd(width)}  # ${step.note}`
  })
  return `next:\n${lines.join('\n')}\n`
}

/** `baton init [FOLDER]`: creates `baton.toml`, which makes the folder a workspace. */
export async function initCommand(flags: Flags<'init'>, io: CommandIo): Promise<number> {
  const { cwd, env, home, print, note } = openWorkplace(flags, io)
  const folder = resolve(cwd, flags.folder ?? '.')
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw usageError(`${folder} is not a folder`, 'Name the folder of the project.')
  }
  refuseHome(realPath(folder), home)
  const present = workspaceConfigFile(folder)
  if (present !== undefined) throw alreadyThere(present)
  const above = findWorkspace({ cwd: existsSync(folder) ? folder : cwd, env, home })

  const path = join(folder, 'baton.toml')
  createFiles([{ path, text: configText({ starters: join(packageRoot(), 'starters') }) }], {
    within: findWorkspace({ cwd, env, home }),
  })
  const created = displayPath(cwd, path)
  print({ created }, () => `${created}\n`)
  const place = folder === io.cwd ? '' : ` -C ${shellWord(displayPath(io.cwd, folder))}`
  note(describeWorkspace({ folder: realPath(folder), above, place }))
  return 0
}

interface NewWorkspace {
  readonly folder: string
  /** The workspace that the folder belonged to until now. */
  readonly above: string
  readonly place: string
}

function describeWorkspace({ folder, above, place }: NewWorkspace): string {
  const lines = [`${folder} is a workspace: globs and agent names in prompt files are relative to it`]
  if (folder !== above && existsSync(join(above, '.git'))) {
    lines.push(`until now, the workspace was ${above}; to keep that, remove the file and run baton init there`)
  }
  if (existsSync(join(folder, '.git'))) {
    lines.push('runs are recorded elsewhere; you may want to list the folders that agents write to in .gitignore:')
    lines.push('  .aipack/', '  .cache/', '  workbench-default/')
  }
  lines.push('next:', `  baton new prompt ask${place}`, `  baton list${place}`, `  baton doctor${place}`)
  return `${lines.join('\n')}\n`
}
