import { findEditor } from '../base/editor.ts'
import { startDetached } from '../base/start-detached.ts'
import type { CommandIo } from './io.ts'

/** Opens a file and does not wait. False when no editor is known; one that does not start does not end the run. */
export function openInEditor(file: string, { env, cwd }: Pick<CommandIo, 'env' | 'cwd'>): boolean {
  const editor = findEditor(env)
  if (editor === undefined) return false
  void startDetached({ command: editor.command, args: [...editor.args, file], cwd, env })
  return true
}
