import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { alreadyThere, createFiles } from '../../authoring/create-files.ts'
import { agentStarter } from '../../authoring/new-agent.ts'
import { packStarter } from '../../authoring/new-pack.ts'
import { promptStarter } from '../../authoring/new-prompt.ts'
import { readPipeline } from '../../authoring/pipelines.ts'
import type { NextStep, Starter } from '../../authoring/starter.ts'
import { BatonError } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { findWorkspace } from '../../config/locate.ts'
import { packageRoot } from '../../package-root.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface NewFlags extends GlobalFlags {
  readonly kind: 'prompt' | 'agent' | 'pack'
  readonly name: string
  /** The pipeline to copy. */
  readonly from: string | undefined
}

/** `baton new`: makes files to start from; their paths on stdout, what to do next on stderr (DESIGN 13). */
export async function newCommand(flags: NewFlags, io: CommandIo): Promise<number> {
  const { cwd } = surroundings(flags, io)
  const { files, next } = starterOf(flags, { cwd, home: io.home })
  createFiles(files)
  for (const { path } of files) {
    const shown = displayPath(cwd, path)
    io.out(flags.json ? `${JSON.stringify({ created: shown })}\n` : `${shown}\n`)
  }
  if (!flags.json && flags.level !== 'quiet') io.err(describeNext(next))
  return 0
}

function starterOf(
  { kind, name, from }: NewFlags,
  { cwd, home }: { readonly cwd: string; readonly home: string },
): Starter {
  if (from !== undefined && kind !== 'prompt') {
    throw new BatonError('USAGE', `--from does not go with new ${kind}`, {
      hint: 'It copies a pipeline: baton new prompt NAME --from PIPELINE.',
    })
  }
  const workspace = findWorkspace({ cwd, home })
  switch (kind) {
    case 'prompt':
      return promptStarter(name, {
        cwd,
        workspace,
        copied: from === undefined ? undefined : readPipeline(from, join(packageRoot(), 'pipelines')),
      })
    case 'agent':
      return agentStarter(name, { cwd, workspace })
    case 'pack': {
      const pack = packStarter(name, { cwd, workspace })
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
