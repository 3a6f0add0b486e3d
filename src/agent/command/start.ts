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

/** What is started for one prompt. */
export interface CommandStart {
  readonly command: string
  readonly args: readonly string[]
  /** What is written to standard input; left out: it is empty. */
  readonly input?: string
  /** Variables besides those that every command gets. */
  readonly env: Readonly<Record<string, string>>
}

export interface StartQuestion {
  readonly agent: Pick<CommandAgent, 'name' | 'line'>
  readonly prompt: string
  /** As the program calls it. */
  readonly model: string | undefined
  /** The conversation that is taken up. */
  readonly session: string | undefined
  readonly mode: CommandSandbox
}

/**
 * The arguments of a command line for a prompt. One that is longer than `stdin_over` goes to standard input, where the
 * argument that would hold it is left out (R268).
 * @throws BatonError CONFIG_INVALID for what the line cannot do: take up a conversation, name no model where it wants one
 */
export function commandStart({ agent, prompt, model, session, mode }: StartQuestion): CommandStart {
  const { line } = agent
  const env = line.preset === undefined || mode === 'open' ? {} : (presets[line.preset].env?.(mode) ?? {})
  const isLong = Buffer.byteLength(prompt) > line.stdinOver
  const isNamed = line.args.some((arg) => arg.includes('{prompt}'))
  // a program cannot be given a NUL, and would take a prompt that begins so for a flag
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
    throw new BatonError('CONFIG_INVALID', `agent "${agent.name}" has {model} in its args, and no model is named`, {
      hint: `Set model in [agents.${agent.name}].`,
    })
  }
  // what is put in is not looked through again
  return [arg.replaceAll(/\{(prompt|model)\}/g, (_, key: string) => (key === 'prompt' ? prompt : model) ?? '')]
}

function noSessions({ name }: Pick<CommandAgent, 'name'>): BatonError {
  return new BatonError(
    'CONFIG_INVALID',
    `agent "${name}" cannot take up a conversation: its program is not a known one`,
    {
      hint: `Set preset in [agents.${name}] to claude, codex, gemini or opencode, or begin anew.`,
    },
  )
}

/**
 * The program as it is looked for: a path counts from the workspace of the run, also where the work is done in a work tree, whose
 * copy a model may have changed.
 */
export function programOf({ command }: Pick<CommandStart, 'command'>, { scope }: RunContext): string {
  return command.includes('/') ? resolve(ownWorkspace(scope.folders), command) : command
}

/**
 * The environment of the program: what every command gets, keys of its own provider where it is a known one, and `env` of its
 * definition. A pack's agent gets of these what the pack was granted.
 * @throws BatonError KEY_MISSING for a variable that `env` refers to and that is not set
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
      hint: `Set it: env of [agents.${name}] in ${basename(file)} refers to it. \${${variable}:-text} has a text for when it is not set.`,
    })
  }
  return {
    ...commandEnvironment(services.env, passes),
    ...(Object.fromEntries(given) as Record<string, string>),
    // nobody looks at its colours
    NO_COLOR: '1',
    ...start.env,
    ...Object.fromEntries(
      Object.entries(line.env).map(([variable, text]) => [variable, withReferences(text, services.env, missing)]),
    ),
  }
}
