import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { alreadyThere, createFiles } from '../../authoring/create-files.ts'
import { configText } from '../../authoring/new-config.ts'
import { BatonError } from '../../base/error.ts'
import { displayPath, realPath } from '../../base/files.ts'
import { shellWord } from '../../base/shell-word.ts'
import { findWorkspace, workspaceConfigFile } from '../../config/locate.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface InitFlags extends GlobalFlags {
  readonly folder: string | undefined
}

/** `baton init [FOLDER]`: makes `baton.toml`, which makes the folder a workspace (DESIGN 3). */
export async function initCommand(flags: InitFlags, io: CommandIo): Promise<number> {
  const { cwd } = surroundings(flags, io)
  const folder = resolve(cwd, flags.folder ?? '.')
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new BatonError('USAGE', `${folder} is not a folder`, { hint: 'Name the folder of the project.' })
  }
  const present = workspaceConfigFile(folder)
  if (present !== undefined) throw alreadyThere(present)
  const above = findWorkspace({ cwd: existsSync(folder) ? folder : cwd, home: io.home })

  const path = join(folder, 'baton.toml')
  createFiles([{ path, text: configText }])
  const shown = displayPath(cwd, path)
  io.out(flags.json ? `${JSON.stringify({ created: shown })}\n` : `${shown}\n`)
  if (!flags.json && flags.level !== 'quiet') {
    const place = folder === io.cwd ? '' : ` -C ${shellWord(displayPath(io.cwd, folder))}`
    io.err(whatItDid({ folder: realPath(folder), above, place }))
  }
  return 0
}

interface Done {
  readonly folder: string
  /** What was the workspace of the folder until now. */
  readonly above: string
  /** Flags that lead there, for commands. */
  readonly place: string
}

function whatItDid({ folder, above, place }: Done): string {
  const lines = [`${folder} is a workspace: globs, and the names of agents in prompt files, start there`]
  if (folder !== above && existsSync(join(above, '.git'))) {
    lines.push(`until now that was ${above}; if you want that, remove the file and run baton init there`)
  }
  if (existsSync(join(folder, '.git'))) {
    lines.push('runs are recorded outside of it; for .gitignore, where agents keep files of their own:')
    lines.push('  .aipack/', '  .cache/', '  workbench-default/')
  }
  lines.push('next:', `  baton new prompt ask${place}`, `  baton list${place}`, `  baton doctor${place}`)
  return `${lines.join('\n')}\n`
}
