import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { BatonError } from './error.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

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

/** Editors that return at once, and the flag with which they wait until the file is closed. */
const waitFlags: Readonly<Record<string, string>> = { code: '--wait', subl: '--wait', zed: '--wait', atom: '--wait' }

/** The editor that is waited for: `VISUAL`, else `EDITOR`, else the one whose terminal this is. */
function waitingEditor(env: Environment): Editor | undefined {
  const named = [env['VISUAL'], env['EDITOR']]
    .map((command) => words(command ?? ''))
    .find((command) => command.length > 0)
  const around = editorAround(env)
  const [command, ...args] = named ?? (around === undefined ? [] : [around])
  const flag = waitFlags[basename(command ?? '')]
  const waits = flag === undefined || args.includes(flag) || args.includes('-w')
  return editor(command === undefined ? [] : [command, ...(waits ? [] : [flag]), ...args], env)
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

export interface EditorIo {
  readonly env: Environment
  readonly cwd: string
  /** Calls a function on every Ctrl-C, which stops nothing if it returns true. Returns what removes it. */
  readonly onInterrupt: (first: () => boolean) => () => void
}

/**
 * Lets the user edit a text in the editor of `VISUAL` or `EDITOR`, and resolves to what was saved once the editor is
 * closed. `name`: the file that the text is for, which tells the editor its language. Undefined: no editor is set.
 * @throws BatonError USAGE if the editor cannot be started or fails
 */
export async function editText(text: string, name: string, io: EditorIo): Promise<string | undefined> {
  const editor = waitingEditor(io.env)
  if (editor === undefined) return undefined
  const folder = makeTemporaryFolder('baton-edit-')
  try {
    const file = join(folder.path, basename(name))
    writeFileSync(file, text)
    const problem = await runEditor(editor, file, io)
    if (problem === undefined) return readFileSync(file, 'utf8')
    throw new BatonError('USAGE', `the editor ${editor.command} ${problem}`, {
      hint: 'Set VISUAL or EDITOR to another one.',
    })
  } finally {
    folder.remove()
  }
}

/** Resolves to what went wrong. */
async function runEditor(
  { command, args }: Editor,
  file: string,
  { env, cwd, onInterrupt }: EditorIo,
): Promise<string | undefined> {
  const { spawn } = await import('node:child_process')
  // Ctrl-C is the editor's
  const release = onInterrupt(() => true)
  try {
    return await new Promise((resolve) => {
      const child = spawn(command, [...args, file], { cwd, env, stdio: 'inherit' })
      child.once('error', (error) => resolve(`cannot be started: ${error.message}`))
      child.once('exit', (code, signal) => {
        resolve(code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`)
      })
    })
  } finally {
    release()
  }
}
