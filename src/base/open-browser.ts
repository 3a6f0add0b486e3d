import { spawn } from 'node:child_process'
import { platform } from 'node:os'
import { findProgram } from './program.ts'

export interface OpenBrowserOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute folder from which no program is started. */
  readonly workspace: string
}

/** Opens a URL in the user's browser. False: no program for it was found. Its output is discarded. */
export function openBrowser(url: URL, { env, workspace }: OpenBrowserOptions): boolean {
  if (platform() === 'linux' && env['DISPLAY'] === undefined && env['WAYLAND_DISPLAY'] === undefined) return false
  const program = findProgram(platform() === 'darwin' ? 'open' : 'xdg-open', env, workspace)
  if (program === undefined) return false
  const child = spawn(program, [url.href], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
  return true
}
