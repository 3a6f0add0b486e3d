export interface DetachedProgram {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Starts a program that goes on by itself, without input and output, in a session of its own. Resolves as soon as it
 * runs: true, or false when it cannot be started. Never rejects, and does not keep this process alive.
 */
export async function startDetached({ command, args, cwd, env }: DetachedProgram): Promise<boolean> {
  const { spawn } = await import('node:child_process')
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: 'ignore' })
    child.once('spawn', () => resolve(true))
    child.on('error', () => resolve(false))
    child.unref()
  })
}
