import { basename, resolve } from 'node:path'
import { commandEnvironment } from '../../base/command.ts'
import { BatonError } from '../../base/error.ts'
import type { CommandSandbox } from './mode.ts'
import { withReferences } from '../../base/references.ts'
import type { CommandAgent } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import { passesVariable } from '../../event/permission.ts'
import { ownWorkspace } from '../../tool/worktree/tree-paths.ts'
import { presets } from './presets/preset.ts'

/** The process to start for one prompt. */
export interface CommandStart {
  readonly command: string
  readonly args: readonly string[]
  /** The content of standard input. Default: empty. */
  readonly input?: string
  /** Additional variables, besides those that every command gets. */
  readonly env: Readonly<Record<string, string>>
}

export interface StartQuestion {
  readonly agent: Pick<CommandAgent, 'name' | 'line'>
  readonly prompt: string
  /** The program's name for it. */
  readonly model: string | undefined
  /** The conversation to resume. */
  readonly session: string | undefined
  readonly mode: CommandSandbox
}

/**
 * Builds the command line for a prompt. A prompt longer than `stdin_over` goes to standard input, and the argument for
 * it is dropped (R268).
 * @throws BatonError CONFIG_INVALID if the program cannot resume a conversation, or needs a model and none is set
 */
export function commandStart({ agent, prompt, model, session, mode }: StartQuestion): CommandStart {
  const { line } = agent
  const env = line.preset === undefined || mode === 'open' ? {} : (presets[line.preset].env?.(mode) ?? {})
  const isLong = Buffer.byteLength(prompt) > line.stdinOver
  const isNamed = line.args.some((arg) => arg.includes('{prompt}'))
  // arguments cannot contain NUL
  const asArgument = !isLong && !prompt.includes('\0')
  const own = line.args.flatMap((arg) => filled(arg, { prompt: asArgument ? prompt : undefined, model, agent }))
  const shown = asArgument && !isNamed ? prompt : undefined
  if (line.preset === undefined || mode === 'open') {
    if (session !== undefined) throw noSessions(agent)
    const isRead = !asArgument || !isNamed
    return { command: line.command, args: own, env, ...(isRead ? { input: prompt } : {}) }
  }
  const args = presets[line.preset].args({ model, mode, session, args: own, prompt: shown })
  return { command: line.command, args, env, ...(asArgument ? {} : { input: prompt }) }
}

function filled(
  arg: string,
  { prompt, model, agent }: Pick<StartQuestion, 'model' | 'agent'> & { readonly prompt: string | undefined },
): readonly string[] {
  if (arg.includes('{prompt}') && prompt === undefined) return []
  if (arg.includes('{model}') && model === undefined) {
    throw new BatonError('CONFIG_INVALID', `agent "${agent.name}" has {model} in its args, but no model is set`, {
      hint: `Set model in [agents.${agent.name}].`,
    })
  }
  // inserted text is not scanned for placeholders again
  return [arg.replaceAll(/\{(prompt|model)\}/g, (_, key: string) => (key === 'prompt' ? prompt : model) ?? '')]
}

function noSessions({ name }: Pick<CommandAgent, 'name'>): BatonError {
  return new BatonError(
    'CONFIG_INVALID',
    `agent "${name}" cannot resume a conversation: Baton does not know its program`,
    {
      hint: `Set preset in [agents.${name}] to claude, codex, gemini or opencode, or start a new conversation.`,
    },
  )
}

/**
 * The path of the program. A relative path starts at the workspace of the run, even if the agent works in a work tree,
 * whose copy of the program a model may have changed.
 */
export function programOf({ command }: Pick<CommandStart, 'command'>, { scope }: RunContext): string {
  return command.includes('/') ? resolve(ownWorkspace(scope.folders), command) : command
}

/**
 * The environment of the program: the variables that every command gets, keys of the provider of a known program, and
 * `env` of its definition. Of the first two, a pack's agent gets only what the pack was granted.
 * @throws BatonError KEY_MISSING if `env` refers to a variable that is not set
 */
export function environmentOf(
  { agent, start }: { readonly agent: CommandAgent; readonly start: CommandStart },
  { scope, services }: RunContext,
): Readonly<Record<string, string>> {
  const { name, line, file } = agent
  const passes = (variable: string): boolean => passesVariable(scope.rights, variable)
  const preset = line.preset === undefined ? undefined : presets[line.preset]
  const given = Object.entries(services.env).flatMap(([variable, value]) =>
    value !== undefined && preset?.passes(variable) === true && passes(variable) ? [[variable, value]] : [],
  )
  const missing = (variable: string): never => {
    throw new BatonError('KEY_MISSING', `agent "${name}" needs the variable ${variable}, which is not set`, {
      hint: `Set it, because env of [agents.${name}] in ${basename(file)} refers to it, or add a default there: \${${variable}:-text}.`,
    })
  }
  return {
    ...commandEnvironment(services.env, passes),
    ...(Object.fromEntries(given) as Record<string, string>),
    // its output is not shown in a terminal
    NO_COLOR: '1',
    ...start.env,
    ...Object.fromEntries(
      Object.entries(line.env).map(([variable, text]) => [variable, withReferences(text, services.env, missing)]),
    ),
  }
}
