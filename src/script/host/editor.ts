import { type Editor, findEditor, startDetached } from '../../base/editor.ts'
import { commandEnvironment } from '../../base/command.ts'
import { emit } from '../../event/context.ts'
import { readablePath } from '../../tool/guard.ts'
import { statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import type { ActCall } from './call.ts'
import { type HostModule, waiting } from './module.ts'

/**
 * `aip.editor`. The editor is the one that the run's environment names, and nothing waits for it. The terminal belongs
 * to the run, so editors that need one are not started.
 */
export const editorModule: HostModule = {
  name: 'aip.editor',
  functions: {
    /**
     * `aip.editor.open_file(path) → {editor}?`
     * Opens a file in the editor whose terminal the run is in, otherwise in that of `VISUAL` or `EDITOR`, and returns
     * the name of the program without waiting for it. nil if no editor is known, if it does not start, or, with a
     * warning, if it needs the terminal (vim, nano). Anything but a readable file is an error.
     */
    open_file: waiting(openFile),
  },
}

async function openFile(call: ActCall): Promise<LuaValue> {
  const { context, name } = call
  const file = readablePath(call.file(0), context)
  const isFile = call.observeBefore(() => statusAt(file)?.kind === 'file')
  if (!isFile) throw call.error(`there is no file ${call.path(0)}`)
  const editor = findEditor(context.services.env)
  if (editor === undefined) return undefined
  if (editor.place === 'window') return (await start(editor, file, call)) ? { editor: editor.name } : undefined
  emit(context, {
    type: 'warning',
    message: `${name}: ${editor.name} needs the terminal, which belongs to the run; ${call.path(0)} was not opened`,
    hint: 'Set VISUAL or EDITOR to an editor with its own window.',
  })
  return undefined
}

/** Opening a file again is harmless, so it may be repeated. */
function start({ command, args, name }: Editor, file: string, call: ActCall): Promise<boolean> {
  const { scope, services } = call.context
  const request = { command, args: [...args, call.shown(file)], cwd: '.' }
  const action = { kind: 'command', program: name, caller: call.name } as const
  const effect = { kind: 'command', request, action, repeat: 'safe', assumed: true } as const
  return services.effects.perform<boolean>(call.at, effect, () =>
    startDetached({
      command,
      args: [...args, file],
      cwd: scope.folders.workspace,
      env: editorEnvironment(services.env),
    }),
  )
}

/** The environment of other commands, plus the variables that editors use to find a running window. */
function editorEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const own = Object.entries(env).filter(([variable]) => /^(?:VSCODE_IPC_|ZED_|TERM_PROGRAM$|WSL)/.test(variable))
  return { ...commandEnvironment(env), ...Object.fromEntries(own) }
}
