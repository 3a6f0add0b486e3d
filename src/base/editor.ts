import { basename } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** How to start an editor: the command with its arguments, to which the file is added. */
export interface Editor {
  readonly command: string
  readonly args: readonly string[]
  /** The program without its folder. */
  readonly name: string
  /** Whether it opens its own window or needs the terminal it is started from. */
  readonly place: 'window' | 'terminal'
}

/** Editors with a window, by the value of `TERM_PROGRAM` in their terminals. */
const editorsAround: readonly (readonly [RegExp, string])[] = [
  [/zed/, 'zed'],
  [/code/, 'code'],
  [/sublime/, 'subl'],
  [/atom/, 'atom'],
]

const terminalEditors: ReadonlySet<string> = new Set(
  'vi vim nvim view nano pico emacsclient joe jed mcedit micro ne mg kak hx helix ed ex'.split(' '),
)

/**
 * The editor to open files with: the one whose terminal this is, else `VISUAL`, else `EDITOR`. These may have
 * arguments, and quotes around names with blanks.
 */
export function findEditor(env: Environment): Editor | undefined {
  const around = editorAround(env)
  if (around !== undefined) return editor([around], env)
  const named = [env['VISUAL'], env['EDITOR']].map((command) => words(command ?? ''))
  return editor(named.find((command) => command.length > 0) ?? [], env)
}

function editorAround(env: Environment): string | undefined {
  const program = (env['TERM_PROGRAM'] ?? '').toLowerCase()
  const found = editorsAround.find(([pattern]) => pattern.test(program))
  if (found !== undefined) return found[1]
  return /^(?:true|1)$/i.test(env['ZED_TERM'] ?? '') ? 'zed' : undefined
}

function words(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|\S+/g)]
    .map(([whole, double, single]) => double ?? single ?? whole)
    .filter((word) => word !== '')
}

function editor([command, ...args]: readonly string[], env: Environment): Editor | undefined {
  if (command === undefined) return undefined
  const name = basename(command)
  return { command, args: name === 'code' ? [...args, '--'] : args, name, place: placeOf(name, args, env) }
}

function placeOf(name: string, args: readonly string[], env: Environment): Editor['place'] {
  if (name === 'emacs') {
    const isText = args.some((arg) => ['-nw', '-t', '--no-window-system', '--tty'].includes(arg))
    return isText || (!env['DISPLAY'] && !env['WAYLAND_DISPLAY']) ? 'terminal' : 'window'
  }
  if (name === 'emacsclient' && args.some((arg) => ['-n', '-c', '--no-wait', '--create-frame'].includes(arg))) {
    return 'window'
  }
  return terminalEditors.has(name) ? 'terminal' : 'window'
}

export interface DetachedProgram {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** The complete environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Starts a program without stdin and stdout in its own session and does not wait for it. Resolves as soon as it runs:
 * true, or false if it cannot be started. Never rejects.
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
