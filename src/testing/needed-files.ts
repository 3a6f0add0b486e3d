import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside } from '../base/files.ts'
import type { ReadLog } from '../base/reads.ts'
import type { PromptTarget } from '../run/prompt-target.ts'

/** Collects the files that loading reads. */
export interface FileLog {
  readonly reads: ReadLog
  /** Absolute paths of those that are there. */
  readonly files: () => readonly string[]
}

export function createFileLog(): FileLog {
  const seen = new Set<string>()
  const note = (path: string): void => void seen.add(path)
  return {
    reads: {
      file: note,
      prompt: note,
      list: () => undefined,
      sources: {
        stored: () => undefined,
        found: (path, { kind }) => (kind === 'file' ? note(path) : undefined),
      },
    },
    files: () => [...seen].filter(isFile),
  }
}

/**
 * Files and folders of the workspace that a copy needs to run the prompt file: those that loading has read (the file
 * itself, agents, config, schemas), and what scripts load when they run: the pack of an agent; of an agent that is a
 * file the scripts beside it and its `lua` folder. Absolute.
 */
export function neededFiles(
  { workspace, spec, agents }: PromptTarget,
  { files, builtInDir }: { readonly files: readonly string[]; readonly builtInDir: string },
): readonly string[] {
  const beside = agents.flatMap(({ builtIn, pack, file }) => {
    if (builtIn) return []
    return pack === undefined ? scriptsBeside(dirname(file)) : [pack.dir]
  })
  const all = new Set([spec.file, ...files, ...beside])
  return [...all].filter((path) => isInside(workspace, path) && !isInside(builtInDir, path))
}

function scriptsBeside(folder: string): readonly string[] {
  const scripts = readdirSync(folder).filter((name) => /\.(?:aip|lua)$/.test(name))
  return [...scripts.map((name) => join(folder, name)).filter(isFile), ...[join(folder, 'lua')].filter(isFolder)]
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
