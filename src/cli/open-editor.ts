import { spawn } from 'node:child_process'
import type { CommandIo } from './io.ts'

/** Editors with a window of their own, by the terminal they run (spec/aipack.md 5.4). */
const terminalEditors: Readonly<Record<string, readonly string[]>> = {
  zed: ['zed'],
  vscode: ['code', '--'],
  sublime: ['subl'],
}

/** The command that opens files: the editor around the terminal, else `VISUAL`, else `EDITOR`. */
export function editorCommand(env: CommandIo['env']): readonly string[] | undefined {
  const around = terminalEditors[(env['TERM_PROGRAM'] ?? '').toLowerCase()]
  if (around !== undefined) return around
  const named = [env['VISUAL'], env['EDITOR']].find((command) => command !== undefined && command.trim() !== '')
  return named?.trim().split(/\s+/)
}

/** Opens a file and does not wait. False when no editor is known. */
export function openInEditor(file: string, { env, cwd }: Pick<CommandIo, 'env' | 'cwd'>): boolean {
  const [command, ...args] = editorCommand(env) ?? []
  if (command === undefined) return false
  const child = spawn(command, [...args, file], { cwd, env, detached: true, stdio: 'ignore' })
  // an editor that does not start must not end the run
  child.on('error', () => undefined)
  child.unref()
  return true
}
