import { findEditor, type Editor } from '../../base/editor.ts'
import { displayPath } from '../../base/files.ts'
import { commandEnvironment } from '../../base/process-environment.ts'
import { startDetached } from '../../base/start-detached.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { Place } from '../../event/effects.ts'
import { guard } from '../../tool/guard.ts'
import { statusAt } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, pathText } from './arguments.ts'
import type { HostModule, Section } from './module.ts'
import { sectionPath } from './section-path.ts'

const name = 'aip.editor.open_file'

/**
 * `aip.editor` (spec/aipack.md 5.4, 6.2). The editor is the user's, from the environment of the run, and goes on by
 * itself: nothing waits for it. The terminal belongs to the run, so editors that need one are not started.
 */
export const editorModule: HostModule = {
  name: 'aip.editor',
  functions: {
    /**
     * `aip.editor.open_file(path) → {editor}?`
     * Opens a file in the editor around the terminal, else in that of `VISUAL` or `EDITOR`, and does not wait; gives the
     * name of the program. nil when no editor is known, when it does not start, and, with a warning, when it needs the
     * terminal (vim, nano). Anything but a file that may be read is an error.
     */
    open_file: { effect: 'act', call: async ([path], section, at) => [await openFile(path, section, at)] },
  },
}

async function openFile(path: LuaValue, section: Section, at: Place): Promise<LuaValue> {
  const { context } = section
  const file = guard('read', sectionPath(path, { name }, section), context)
  if (statusAt(file)?.kind !== 'file') throw argumentError(name, `there is no file ${pathText(path, name)}`)
  const editor = findEditor(context.surroundings?.env ?? {})
  if (editor === undefined) return undefined
  if (editor.place === 'window')
    return (await start(editor, file, { context, at })) ? { editor: editor.name } : undefined
  emit(context, {
    type: 'warning',
    message: `${name}: ${editor.name} needs the terminal, which belongs to the run; ${pathText(path, name)} was not opened`,
    hint: 'Let VISUAL or EDITOR name an editor with a window of its own.',
  })
  return undefined
}

interface Start {
  readonly context: RunContext
  readonly at: Place
}

/** Opening a file once more does no harm, so it may be repeated. */
function start(editor: Editor, file: string, { context, at }: Start): Promise<boolean> {
  const { workspace, surroundings } = context
  const { command } = editor
  const args = [...editor.args, file]
  const request = { command, args: [...editor.args, displayPath(workspace, file)], cwd: '.' }
  return context.effects.perform(at, { kind: 'command', request, repeat: 'safe', assumed: true }, () =>
    startDetached({ command, args, cwd: workspace, env: editorEnvironment(surroundings?.env ?? {}) }),
  )
}

/** That of other commands, and what the editors' own programs find a running window with. */
function editorEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const own = Object.entries(env).filter(([variable]) => /^(?:VSCODE_IPC_|ZED_|TERM_PROGRAM$|WSL)/.test(variable))
  return { ...commandEnvironment(env), ...Object.fromEntries(own) }
}
