import { spawn } from 'node:child_process'
import { platform } from 'node:os'
import { findProgram } from './program.ts'

export interface OpenBrowserOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** No program of this folder is started. Absolute. */
  readonly workspace: string
}

/** Opens an address in the browser of the user. False: there is no program for it. What it prints is nobody's business. */
export function openBrowser(url: URL, { env, workspace }: OpenBrowserOptions): boolean {
  if (platform() === 'linux' && env['DISPLAY'] === undefined && env['WAYLAND_DISPLAY'] === undefined) return false
  const program = findProgram(platform() === 'darwin' ? 'open' : 'xdg-open', env, workspace)
  if (program === undefined) return false
  const child = spawn(program, [url.href], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return true
}
